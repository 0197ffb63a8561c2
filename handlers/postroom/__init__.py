"""The engine: work that need not happen before the answer, done once in effect, visibly.

Everything at this level is pure: no AWS, no environment, no clock. `postroom.aws` is the shell around it.
"""
