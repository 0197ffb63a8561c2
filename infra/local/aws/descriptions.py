"""botocore's own descriptions of the services. Reading one takes longer than most runs: once a process."""

from functools import cache

from botocore.loaders import create_loader
from botocore.model import ServiceModel

LOADER = create_loader()


@cache
def service_model(service: str) -> ServiceModel:
    """What botocore knows of a service. Raises `UnknownServiceError`."""
    return ServiceModel(LOADER.load_service_model(service, "service-2"), service_name=service)
