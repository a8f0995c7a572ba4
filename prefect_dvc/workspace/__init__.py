"""The user's repository: a snapshot of it, the directory of a run, what the run needs of it, and the way back."""
