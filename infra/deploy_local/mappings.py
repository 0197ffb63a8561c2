"""Event source mappings as the template means them.

A parameter of type Number reaches MiniStack 1.5.33's mappings as text, which the SDK does not let us see.
Lambda takes `MaximumConcurrency` as the number that it is; MiniStack compares it, fails, and polls no queue
any more.
"""

from __future__ import annotations

from typing import Any


def mend(client: Any) -> int:
    """Tell each mapping its concurrency again, as a number, through a Lambda client. Returns how many."""
    pages = client.get_paginator("list_event_source_mappings").paginate()
    mappings = [mapping for page in pages for mapping in page["EventSourceMappings"]]
    bounded = [mapping for mapping in mappings if mapping.get("ScalingConfig")]
    for mapping in bounded:
        concurrency = int(mapping["ScalingConfig"]["MaximumConcurrency"])
        client.update_event_source_mapping(
            UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": concurrency}
        )
    return len(bounded)
