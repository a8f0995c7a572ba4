"""Processes, locks between them, and errors of remotes in one line."""
