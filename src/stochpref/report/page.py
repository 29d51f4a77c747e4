# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Write the page: template, style, script, pictures and numbers in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path

from stochpref import __version__
from stochpref.errors import InvalidArgument, counted
from stochpref.files import made, replacing
from stochpref.models import CommonUtility, HeterogeneousUtility
from stochpref.report.findings import read_posterior, read_utility
from stochpref.report.pictures import common_pictures, posterior_pictures, utility_pictures
from stochpref.report.whatif import as_payload
from stochpref.report.words import N_ROWS, posterior_content, safe_json, shared_content, shorten, utility_content


def write_report(model: HeterogeneousUtility | CommonUtility, path: str | Path, *, title: str | None = None) -> Path:
    """Write a fit as one HTML page that opens from disk, with no network; return its path.

    The page has the verdict, the data, what customers want, whether to trust the fit, a predictive check, demand and
    elasticities, a what-if that answers as sliders move, and how to make it again. The same fit gives the same bytes.

    Parameters
    ----------
    model : fitted, or loaded by `load_fit`.
    path : the file to write; its folder is made if needed.
    title : of the page; None for one that says how many purchases and goods there are.

    Raises
    ------
    InvalidArgument : the model is neither of the two, or not fitted.
    """
    if not isinstance(model, HeterogeneousUtility | CommonUtility) or not hasattr(model, "goods_"):
        raise InvalidArgument(
            f"model must be a fitted HeterogeneousUtility or CommonUtility; received {type(model).__name__}"
            f"{' not fitted' if isinstance(model, HeterogeneousUtility | CommonUtility) else ''}; call fit first"
        )
    target = Path(path)
    with made(target.parent), replacing(target) as stream:
        stream.write(render(model, title).encode())
    return target


def render(model: HeterogeneousUtility | CommonUtility, title: str | None = None) -> str:
    """Return the page."""
    import jinja2  # noqa: PLC0415

    if isinstance(model, HeterogeneousUtility):
        reading = read_posterior(model)
        words = posterior_content(model, reading)
        pictures = common_pictures(reading) | posterior_pictures(model, reading)
    else:
        reading = read_utility(model)
        words = utility_content(model, reading)
        pictures = common_pictures(reading) | utility_pictures(model, reading)
    names, count = [shorten(name) for name in model.goods_], len(reading.observations)
    payload = as_payload(reading.asked) | {"goods": names}
    script = _text("page.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A policy beside the escaping: the browser runs this script and no other, and loads nothing from anywhere.
    fingerprint = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(_text("page.html")).render(
        **shared_content(reading, model),
        **words,
        title=title
        or f"What {counted(count, 'purchase')} {'says' if count == 1 else 'say'} about {counted(len(names), 'good')}",
        counted=counted,
        is_posterior=isinstance(model, HeterogeneousUtility),
        pictures=pictures,
        curve_names=[names[curve.good] for curve in reading.curves],
        payload=payload,
        data=safe_json(payload),
        style=_text("page.css"),
        script=script,
        fingerprint=fingerprint,
        n_rows=N_ROWS,
        check=reading.check,
        version=__version__,
    )


def _text(name: str) -> str:
    return (resources.files("stochpref.report") / name).read_text(encoding="utf-8")
