"""Which test fails when a rule of the specification is broken: bindings.py has the table, __main__.py checks it."""
