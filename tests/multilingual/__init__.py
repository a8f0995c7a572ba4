"""Tests of the multilingual encoder."""
