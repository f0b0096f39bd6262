"""Every operation once: name, typed parameters, docstring, function. Command line and servers are made from it."""
