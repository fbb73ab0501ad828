"""Replay: repeats a traced run on a real file system."""
