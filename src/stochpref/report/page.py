# SPDX-FileCopyrightText: 2026 the stochpref developers
# SPDX-License-Identifier: MIT
"""Write the page: template, style, script, pictures and numbers in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stochpref import __version__
from stochpref.errors import InvalidArgument, counted
from stochpref.files import made, replacing
from stochpref.models.account import shorten
from stochpref.models.fit import Fit
from stochpref.report.findings import reading_of
from stochpref.report.pictures import drawn
from stochpref.report.sections import SECTIONS, Material
from stochpref.report.trade import page_in, spoken, trade_of
from stochpref.report.whatif import as_payload
from stochpref.report.words import N_ROWS, safe_json
from stochpref.rows import LEFT_OUT

if TYPE_CHECKING:
    import jinja2


def write_report(
    model: Fit | Mapping[str, Fit | str], path: str | Path, *, title: str | None = None, costs: Any = None,
    currency: str = "",
) -> Path:  # fmt: skip
    """Write a fit as one HTML page that opens from disk, with no network; return its path.

    The page has the verdict, what sells, a what-if that answers as sliders move, demand and elasticities; then why to
    believe it, the data, and how to make it again. The same fit gives the same bytes.

    Parameters
    ----------
    model : fitted, or loaded by `load_fit`; or several by name, such as those of groups, of which the page shows one at
        a time. A text in place of a fit says why there is none.
    path : the file to write; its folder is made if needed.
    title : of the page; None for one that says how many purchases and goods there are.
    costs : of a unit of each good, in the order of `goods_`, or by name: curves and the what-if then show profit, and
        where customers may keep their money there is a list of the best prices.
    currency : of prices, shown beside money, such as "EUR"; "" for none.

    Raises
    ------
    InvalidArgument : the model is none of ours, or not fitted; or a cost is missing.
    """
    if not isinstance(currency, str):
        raise InvalidArgument(f"currency must be a word, such as 'EUR'; received {currency!r}")
    render_fn = _render_several if isinstance(model, Mapping) else _render_one
    page = render_fn(model, title, costs=costs, currency=currency)
    target = Path(path)
    with made(target.parent), replacing(target) as stream:
        stream.write(page.encode())
    return target


def _render_one(model: object, title: str | None, **more: Any) -> str:
    return render(_checked(model), title, **more)


def _checked(model: object) -> Fit:
    if not isinstance(model, Fit) or not hasattr(model, "goods_"):
        raise InvalidArgument(
            f"model must be a fitted model of stochpref; received {type(model).__name__}"
            f"{' not fitted' if isinstance(model, Fit) else ''}; call fit first"
        )
    model._check_priced()
    return model


def _render_several(models: Mapping[str, Fit | str], title: str | None, **more: Any) -> str:
    """Return a page that shows one of several pages, each whole in it."""
    fitted = {str(name): _checked(model) for name, model in models.items() if not isinstance(model, str)}
    if not fitted:
        raise InvalidArgument(
            f"model must hold a fit at least; received {len(models)} names without one; fit them first"
        )
    scripts = [_text("chooser.js"), _text("page.js")]  # a page within a page keeps to the policy of both
    pages = [render(model, None if title is None else f"{title}: {name}", **more) for name, model in fitted.items()]
    return (
        _environment()
        .get_template("chooser.html")
        .render(
            title=title or f"What purchases say about {counted(len(fitted), 'group')}",
            names=[shorten(name) for name in fitted],
            failures=[(shorten(str(name)), why) for name, why in models.items() if isinstance(why, str)],
            data=safe_json(pages),
            script=scripts[0],
            fingerprints=[_fingerprint(script) for script in scripts],
        )
    )


def render(model: Fit, title: str | None = None, *, costs: Any = None, currency: str = "") -> str:
    """Return the page; parameters as in `write_report`."""
    reading = reading_of(model, costs, shorten(currency, 12))
    names, count = [shorten(name) for name in model.observations_.shown_goods], len(reading.observations)
    payload = as_payload(reading.market, reading.menu, reading.costs) | {"goods": names}
    prices = None if costs is None or model.problem_.unpriced else model.best_prices(costs=costs)
    given = Material(model, model.account(), reading, payload, prices)
    environment, script = _environment(), _text("page.js")
    shared = {
        "account": given.account,
        "customers_differ": model.customers_differ,
        "unit": f", {reading.currency}" if reading.currency else "",
    }
    sections = []
    for section in SECTIONS:
        content = section.content_fn(given)
        if content is not None:
            html = environment.get_template(f"sections/{section.name}.html").render(shared | content)
            sections.append((section, html))
    trade, about = trade_of(model.observations_), counted(len(names), "good")
    said = spoken(f"What {_purchases(model, count)} about {about}", trade)
    html = environment.get_template("page.html").render(
        **shared,
        about=model.problem_.about,
        title=title or f"{said}{_left_out(model)}",
        sections=sections,
        data=safe_json(payload),
        style=_text("page.css"),
        script=script,
        fingerprint=_fingerprint(script),
    )
    return page_in(html, trade, names)


def _environment() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_text),
    )  # fmt: skip
    environment.filters |= {"drawn": drawn, "with_commands": _with_commands}
    environment.globals |= {"n_rows": N_ROWS, "counted": counted, "version": __version__}
    return environment


def _fingerprint(script: str) -> str:
    """Return what the page's policy calls a script by.

    A policy beside the escaping: the browser runs these scripts and no other, and loads nothing from anywhere.
    """
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _left_out(model: Fit) -> str:
    """Return which observations the reader left out, in brackets; "" if none."""
    told = [note for note in model.observations_.notes if note.startswith(LEFT_OUT)]
    return f" ({'; '.join(told)})" if told else ""


def _purchases(model: Fit, count: int) -> str:
    """Return how many purchases say something, of how many that were given if some are left out."""
    said = counted(count, "purchase")
    if model.n_dropped_:
        said = f"{model.n_observations_ - model.n_dropped_:,} of {counted(model.n_observations_, 'purchase')}"
    return f"{said} {'says' if said.startswith('1 ') else 'say'}"


def _with_commands(text: str) -> str:
    """Return a text as HTML, with what stands between backticks as a command."""
    from markupsafe import Markup, escape  # noqa: PLC0415

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if k % 2 else part for k, part in enumerate(parts))


def _text(name: str) -> str:
    return (resources.files("stochpref.report") / name).read_text(encoding="utf-8")
