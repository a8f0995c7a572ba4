"""The parts around Prefect's server: its database, the reports of runs, small answers."""
