"""A simulated shop, from purchases to a price: ``python examples/shop.py``."""

from __future__ import annotations

import numpy as np

import stochpref as sp

GOODS = ("coffee", "tea", "juice", "cake")
rng = np.random.default_rng(0)

# Customers like coffee best and cake hardly at all, but they differ.
taste = np.array([0.7, 0.5, 0.4, -0.2])
menus = sp.MenuLaw("uniform").sample(500, len(GOODS), rng=rng)
menus = sp.Menus(menus.prices, menus.budgets, goods=GOODS)
purchases = sp.simulate(sp.VonMisesFisher(taste / np.linalg.norm(taste), 6.0), menus, 500, rng=rng)
print(purchases.audit(), "\n")

model = sp.HeterogeneousUtility(random_state=0).fit(purchases)
print(model.summary(), "\n")

# Which price of coffee earns most, everything else at 1.50 and three to spend?
own = np.linspace(0.8, 2.8, 21)
prices = np.full((len(own), len(GOODS)), 1.5)
prices[:, 0] = own
demand = model.demand(prices, np.full(len(own), 3.0))
earned = own * demand.mean[:, 0]
best = int(np.argmax(earned))
print(f"coffee earns most at {own[best]:.2f}: {earned[best]:.2f} a customer, {demand.mean[best, 0]:.0%} of them buy it")
