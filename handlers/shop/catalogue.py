"""What the shop sells, and for how much: prices are the server's, never the client's."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """`unit_price` is in kobo."""

    sku: str
    name: str
    unit_price: int


PRODUCTS: Mapping[str, Product] = {
    product.sku: product
    for product in (
        Product("adire-shirt", "Adire shirt", 850_000),
        Product("palm-basket", "Palm basket", 342_500),
        Product("shea-butter", "Shea butter", 125_050),
        Product("talking-drum", "Talking drum", 4_500_000),
        Product("zobo-tea", "Zobo tea", 90_000),
    )
}
