"""Build the documentation: figures from kept runs, reference pages, the site, checks of the English."""
