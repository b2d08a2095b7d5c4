"""Other libraries' interfaces to the games; each module needs its own extra."""
