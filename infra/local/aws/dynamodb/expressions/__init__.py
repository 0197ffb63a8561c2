"""The expression language: conditions, updates, key conditions and projections.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""
