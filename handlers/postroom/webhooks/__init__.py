"""Webhooks: a caller's own URL is told how its jobs end, signed as Standard Webhooks 1.0 says.

Source: github.com/standard-webhooks/standard-webhooks (spec/standard-webhooks.md)
"""
