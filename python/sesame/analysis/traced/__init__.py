"""What a traced run did with files and messages, in numbers: totals, patterns, times, waits."""
