"""The contracts that others read: the API's OpenAPI document, and the events' AsyncAPI document."""
