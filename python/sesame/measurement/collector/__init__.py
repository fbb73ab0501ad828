"""The collector: writes the readings and events of many daemons as data sets."""
