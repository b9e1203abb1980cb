"""`sfumato keygen`: make the key that signs certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.screen import JsonOption, answering


def keygen(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="The private key file; the public half is written beside it, ending in .pub. By "
            "default the place where `sfumato table release` looks for it."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an Ed25519 key that signs the certificates of your releases."""
    with answering(as_json) as screen:
        from rich.console import Console

        from sfumato.privacy import keys

        place = keys.default_path() if path is None else path
        public = keys.generate(place)
        fingerprint = keys.fingerprint(public)

        def show(console: Console) -> None:
            console.print(f"Private key  {place}   (keep it secret)", soft_wrap=True)
            console.print(f"Public key   {keys.public_path(place)}   (publish it)", soft_wrap=True)
            console.print(f"Fingerprint  {fingerprint}")
            if path is not None:
                console.print("Sign with it: sfumato table release … --key PRIVATE-KEY")

        screen.answer(
            {
                "private_key": str(place),
                "public_key": str(keys.public_path(place)),
                "fingerprint": fingerprint,
                "public_hex": keys.public_hex(public),
            },
            show,
        )
