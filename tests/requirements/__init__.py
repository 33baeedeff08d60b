"""Which test fails when a rule of the specification is broken, and which rules have none: __main__ checks it."""
