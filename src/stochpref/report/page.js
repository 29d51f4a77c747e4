"use strict";
// The what-if. Customers' utilities are made as stochpref.demand makes them, from the draws embedded in the page, and
// each customer buys by the rule of the problem: of divisible goods those worth having, in falling order of utility per
// unit of money, up to their caps, until the money is spent; with an open budget all that are worth their price in money
// that is kept; one of them, the best; of whole goods, and under several limits, the bundle that is worth most.
(() => {
  const market = JSON.parse(document.getElementById("market").textContent);
  const n = market.goods.length, nDraws = market.draws, nCustomers = market.customers;
  // The good that each coordinate of a utility is of: goods may have several units; money, where budgets are open, is of
  // none.
  const owners = market.owners, size = owners.length;
  const caps = market.caps.map((cap) => (cap === null ? Infinity : cap));
  const all = (selector, home = document) => Array.from(home.querySelectorAll(selector));
  const find = (id) => document.getElementById(id);

  function unpack(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
    return new Float64Array(bytes.buffer);
  }

  // Of a normal law: u = mean + root × normals, the root of a draw lower triangular; and the noise of a choice, if any.
  function makeNormal() {
    const mean = unpack(market.means), root = unpack(market.roots), normal = unpack(market.normals);
    const noise = market.noise ? unpack(market.noise) : null;
    const utilities = new Float64Array(nDraws * nCustomers * size);
    for (let s = 0, out = 0; s < nDraws; s++) {
      for (let m = 0; m < nCustomers; m++) {
        for (let i = 0; i < size; i++) {
          let total = mean[s * size + i];
          for (let j = 0; j <= i; j++) total += root[(s * size + i) * size + j] * normal[m * size + j];
          if (noise) total += noise[m * size + i];
          utilities[out++] = market.logarithms ? Math.exp(total) : total;
        }
      }
    }
    return utilities;
  }

  // Of goods that satiate: worths exp(location + scale × error), and below them worth × satiation of those that fade.
  function makeLognormal() {
    const location = unpack(market.locations), scale = unpack(market.scales), fade = unpack(market.fades);
    const error = unpack(market.errors), inside = unpack(market.inside), k = size - inside.length;
    const utilities = new Float64Array(nDraws * nCustomers * size);
    for (let s = 0, out = 0; s < nDraws; s++) {
      for (let m = 0; m < nCustomers; m++, out += size) {
        for (let i = 0; i < k; i++) {
          utilities[out + i] = Math.exp(location[s * k + i] + scale[s * k + i] * error[m * k + i]);
        }
        inside.forEach((i, j) => { utilities[out + k + j] = utilities[out + i] * fade[s * inside.length + j]; });
      }
    }
    return utilities;
  }

  // (draws × customers, size): u = cos θ μ + sin θ v, v the tangent turned by the smallest rotation from centre to μ, the
  // direction of the segment in which a customer's place lies; as a rule there is but one.
  function makeUtilities() {
    if (market.normals) return makeNormal();
    if (market.errors) return makeLognormal();
    const centre = unpack(market.centre), mu = unpack(market.directions);
    const tangent = unpack(market.tangents), angle = unpack(market.angles);
    const nSegments = mu.length / (nDraws * size);
    const end = nSegments > 1 ? unpack(market.ends) : [], place = nSegments > 1 ? unpack(market.places) : [];
    const utilities = new Float64Array(nDraws * nCustomers * size), along = new Float64Array(nSegments);
    for (let s = 0, out = 0; s < nDraws; s++) {
      for (let k = 0; k < nSegments; k++) {
        along[k] = 1;
        for (let i = 0; i < size; i++) along[k] += centre[i] * mu[(s * nSegments + k) * size + i];
        along[k] = Math.max(along[k], 1e-12);
      }
      for (let m = 0; m < nCustomers; m++) {
        let k = 0, dot = 0;
        while (k < nSegments - 1 && place[m] >= end[s * nSegments + k]) k++;
        const first = (s * nSegments + k) * size;
        for (let i = 0; i < size; i++) dot += tangent[m * size + i] * mu[first + i];
        const cos = Math.cos(angle[s * nCustomers + m]), sin = Math.sin(angle[s * nCustomers + m]);
        for (let i = 0; i < size; i++) {
          const direction = mu[first + i];
          utilities[out++] = cos * direction + sin * (tangent[m * size + i] - dot * ((centre[i] + direction) / along[k]));
        }
      }
    }
    return utilities;
  }

  const heap = new Int32Array(size), worth = new Float64Array(size);  // by coordinate
  const bundle = new Float64Array(n), bought = new Int32Array(n);
  const isBefore = (i, j) => worth[i] > worth[j] || (worth[i] === worth[j] && i < j);

  function sink(k, count) {
    const good = heap[k];
    for (let child = 2 * k + 1; child < count; child = 2 * k + 1) {
      if (child + 1 < count && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], good)) break;
      heap[k] = heap[child];
      k = child;
    }
    heap[k] = good;
  }

  // Each of these buys for the customer whose utilities start at `first`: it lists the goods in `bought`, their quantities
  // in `bundle`, and returns how many, or -1 for a customer whom the problem is not about.
  const rules = {
    divisible: buyInPart, open: buyWorthTheirPrice, one: buyTheBest, whole: buyWhole, satiated: buyUntilEnough,
    linear: buyWithinLimits,
  };
  const buy = rules[market.problem];
  const limits = market.limits.map((limit) => limit.most ?? Infinity);  // beside the budget, as the sliders have them

  function buyWorthTheirPrice(utilities, first, offered, prices) {
    const money = utilities[first + n];
    let many = 0;
    if (!(money > 0)) return -1;
    for (const i of offered) {
      if (utilities[first + i] > (prices[i] / market.settings.scale) * money) { bundle[i] = caps[i]; bought[many++] = i; }
    }
    return many;
  }

  // As stochpref.problems.satiated_choice: spending rises in 1/λ in straight pieces between where goods enter, 1/w, and
  // where they reach their caps. With μ = λ^(-1/e) a good's quantity is γ (w μ - 1), that of the outside good w μ.
  const fading = market.inside ? Array.from(unpack(market.inside)) : [];
  const isOutside = Array.from({ length: n }, (_, i) => fading.length > 0 && !fading.includes(i));
  const bend = 1 - ((market.settings || {}).power || 0), rise = new Float64Array(n), fades = new Float64Array(n);

  function buyUntilEnough(utilities, first, offered, prices, budget) {
    const k = size - fading.length, events = [], power = (x) => (bend === 1 ? x : x ** (1 / bend));
    let least = k > n && !fading.includes(n) ? power(utilities[first + n]) : 0;  // slope of the outside good alone
    let slope = 0, fixed = 0, level = Infinity, rising = 0, many = 0;
    for (const i of offered) {
      rise[i] = power(utilities[first + i] / prices[i]);
      if (isOutside[i]) { least = prices[i] * rise[i]; continue; }
      fades[i] = utilities[first + k + fading.indexOf(i)] / utilities[first + i];
      events.push([1 / rise[i], i, 1]);
      if (caps[i] < Infinity) events.push([(1 + caps[i] / fades[i]) / rise[i], i, -1]);
    }
    events.sort((a, b) => a[0] - b[0]);
    slope = least;
    for (const [at, i, sign] of events) {
      if (slope > 0 && slope * at + fixed >= budget) break;
      rising += sign;
      slope = rising ? slope + sign * prices[i] * fades[i] * rise[i] : least;
      fixed -= sign * prices[i] * fades[i] - (sign < 0 ? prices[i] * caps[i] : 0);
    }
    if (slope > 0) level = (budget - fixed) / slope;
    for (const i of offered) {
      const amount = isOutside[i] ? rise[i] * level : Math.min(fades[i] * (rise[i] * level - 1), caps[i]);
      if (amount * prices[i] > 1e-12 * budget) { bundle[i] = amount; bought[many++] = i; }
    }
    return many;
  }

  function buyTheBest(utilities, first, offered, prices) {
    const { outside, reading } = market.settings;
    let best = -1, most = -Infinity;
    for (const i of offered) {
      const value = utilities[first + i] / (reading === "value" ? prices[i] : 1);
      if (value > most) { most = value; best = i; }
    }
    if (best < 0 || (outside && most <= 0)) return 0;
    if (!outside && reading === "value" && most <= 0) return -1;
    bundle[best] = 1;
    bought[0] = best;
    return 1;
  }

  // A heap, because as a rule the money is spent long before the last good.
  function buyInPart(utilities, first, offered, prices, budget) {
    let count = 0, many = 0, money = budget;
    const nothing = 1e-12 * budget;
    for (let c = 0; c < size; c++) {
      const u = utilities[first + c], price = prices[owners[c]];
      if (u > 0 && price < Infinity) { worth[c] = u / price; heap[count++] = c; }
    }
    for (const i of offered) bundle[i] = 0;
    for (let k = (count >> 1) - 1; k >= 0; k--) sink(k, count);
    while (count > 0 && money > nothing) {
      const i = owners[heap[0]], cost = prices[i] * caps[i];
      if (bundle[i] === 0) bought[many++] = i;
      if (cost > money) { bundle[i] += money / prices[i]; return many; }
      bundle[i] += caps[i];
      money -= cost;
      heap[0] = heap[--count];
      sink(0, count);
    }
    return many;
  }

  const isWhole = market.goods.map((name) => !market.settings.goods || market.settings.goods.includes(name));
  const isAllWhole = isWhole.every((whole) => whole), rounding = 1e-12, mostSteps = 20000;
  const taken = new Float64Array(n), best = new Float64Array(n), most = new Float64Array(n), ranked = new Int32Array(n);
  const left = new Float64Array(n + 1), reached = new Float64Array(n + 1);

  // What money is worth, spent in part on the goods from `start` on that are not whole ones before `place`.
  function inPart(utilities, first, prices, place, start, count, money) {
    let total = 0;
    for (let k = start; k < count; k++) {
      const i = ranked[k];
      if (k < place && isWhole[i]) continue;
      const cost = prices[i] * most[k];
      if (cost > money) return total + utilities[first + i] * (money / prices[i]);
      total += utilities[first + i] * most[k];
      money -= cost;
    }
    return total;
  }

  // Spend what is left on goods in part; return what they are worth.
  function fillRest(utilities, first, prices, count, money) {
    let total = 0;
    for (let k = 0; k < count; k++) {
      const i = ranked[k];
      if (isWhole[i]) continue;
      taken[k] = Math.min(most[k], money / prices[i]);
      money = Math.max(money - taken[k] * prices[i], 0);
      total += taken[k] * utilities[first + i];
    }
    return total;
  }

  // Branch and bound, as in stochpref.problems.knapsack: false where it would take too long.
  function search(utilities, first, prices, count, budget, limit) {
    let value = -1, change = 0, place = 0;
    left[0] = limit;
    for (let step = 0; step < mostSteps; step++) {
      const bound = reached[place] + inPart(utilities, first, prices, place, isAllWhole ? place : 0, count, left[place]);
      if (bound >= value * (1 - rounding)) {
        for (let k = place; k < count; k++) {
          const i = ranked[k];
          const units = isWhole[i] ? (taken[k] = Math.min(most[k], Math.floor(Math.max(left[k] / prices[i], 0)))) : 0;
          reached[k + 1] = reached[k] + units * utilities[first + i];
          left[k + 1] = left[k] - units * prices[i];
        }
        place = count;
        const money = Math.max(left[count] - (limit - budget), 0);
        const found = reached[count] + (isAllWhole ? 0 : fillRest(utilities, first, prices, count, money));
        if (found > value || (found === value && left[count] > change)) {
          value = found;
          change = left[count];
          best.set(taken.subarray(0, count));
        }
      } else if (isAllWhole) place--;
      let k = place - 1;
      while (k >= 0 && (!isWhole[ranked[k]] || taken[k] === 0)) k--;
      if (k < 0) return true;
      taken[k]--;
      reached[k + 1] = reached[k] + taken[k] * utilities[first + ranked[k]];
      left[k + 1] = left[k] - taken[k] * prices[ranked[k]];
      place = k + 1;
    }
    return false;
  }

  // The same by lists of cost, value and how an entry came about, for menus of goods that are nearly alike.
  function listAll(utilities, first, prices, count, budget, limit) {
    let list = [{ cost: 0, value: 0, k: -1, units: 0, rest: null }];
    for (let k = count - 1; k >= 0; k--) {
      const i = ranked[k], entries = [];
      if (!isWhole[i]) continue;
      for (const rest of list) {
        for (let units = 0; units <= most[k] && rest.cost + units * prices[i] <= limit; units++) {
          const cost = rest.cost + units * prices[i], value = rest.value + units * utilities[first + i];
          entries.push({ cost, value, k, units, rest });
        }
      }
      entries.sort((a, b) => a.cost - b.cost || b.value - a.value || b.units - a.units);
      let highest = -1;
      list = entries.filter((entry) => entry.value > highest && ((highest = entry.value), true));
    }
    let found = -1;
    for (const entry of list) {
      const value = entry.value + fillRest(utilities, first, prices, count, Math.max(budget - entry.cost, 0));
      if (!(value > found)) continue;
      found = value;
      for (let at = entry; at.k >= 0; at = at.rest) taken[at.k] = at.units;
      best.set(taken.subarray(0, count));
    }
  }

  function buyWhole(utilities, first, offered, prices, budget) {
    const limit = budget * (1 + 1e-7);
    let count = 0, many = 0;
    for (const i of offered) {
      const u = utilities[first + i];
      const units = isWhole[i] ? Math.floor(Math.min(caps[i] + 1e-9, limit / prices[i])) : caps[i];
      if (!(u > 0) || units === 0) continue;
      worth[i] = u / prices[i];
      let k = count++;
      for (; k > 0 && worth[ranked[k - 1]] < worth[i]; k--) { ranked[k] = ranked[k - 1]; most[k] = most[k - 1]; }
      ranked[k] = i;
      most[k] = units;
    }
    taken.fill(0, 0, count);
    if (!search(utilities, first, prices, count, budget, limit)) listAll(utilities, first, prices, count, budget, limit);
    for (let k = 0; k < count; k++) {
      if (best[k] * prices[ranked[k]] > 1e-12 * budget) { bundle[ranked[k]] = best[k]; bought[many++] = ranked[k]; }
    }
    return many;
  }

  // Several limits, money first: a simplex method for few rows, as in stochpref.problems.simplex.
  const rates = market.problem === "linear" ? market.settings.coefficients : [], nRows = rates.length + 1;
  const scaledLimits = new Float64Array(nRows);  // of each limit, in units of its largest rate
  const use = Array.from({ length: nRows }, () => new Float64Array(n)), basis = new Int32Array(nRows);
  const atCap = new Uint8Array(n + nRows), isBasic = new Uint8Array(n + nRows);
  const grid = (columns) => Array.from({ length: nRows }, () => new Float64Array(columns));
  const matrix = grid(nRows), turned = grid(nRows), worths = grid(1), both = grid(2);

  function solveSmall(left, right) {
    const width = right[0].length;
    for (let j = 0; j < nRows; j++) {
      let top = j;
      for (let i = j + 1; i < nRows; i++) if (Math.abs(left[i][j]) > Math.abs(left[top][j])) top = i;
      [left[j], left[top]] = [left[top], left[j]];
      [right[j], right[top]] = [right[top], right[j]];
      for (let i = 0; i < nRows; i++) {
        if (i === j || left[i][j] === 0) continue;
        const factor = left[i][j] / left[j][j];
        for (let k = j; k < nRows; k++) left[i][k] -= factor * left[j][k];
        for (let k = 0; k < width; k++) right[i][k] -= factor * right[j][k];
      }
    }
    for (let j = 0; j < nRows; j++) for (let k = 0; k < width; k++) right[j][k] /= left[j][j];
  }

  // Of goods by their place in `ranked`, and after them of what is left of each limit.
  const rateOf = (i, j, count) => (j < count ? use[i][j] : (j - count === i ? 1 : 0));

  function buyWithinLimits(utilities, first, offered, prices, budget) {
    let count = 0, many = 0;
    for (const i of offered) {
      const u = utilities[first + i];
      let k = count++;
      for (; k > 0 && utilities[first + ranked[k - 1]] < u; k--) ranked[k] = ranked[k - 1];
      ranked[k] = i;
    }
    if (count === 0) return 0;
    const valueOf = (j) => (j < count ? utilities[first + ranked[j]] : 0), capOf = (j) => (j < count ? caps[ranked[j]] : Infinity);
    let scale = 1e-300;
    for (let k = 0; k < count; k++) scale = Math.max(scale, Math.abs(valueOf(k)));
    for (let i = 0; i < nRows; i++) {
      const limit = i === 0 ? budget : limits[i - 1];
      let largest = 1e-300;
      for (let k = 0; k < count; k++) {
        use[i][k] = limit === Infinity ? 0 : (i === 0 ? prices[ranked[k]] : rates[i - 1][ranked[k]]);
        largest = Math.max(largest, Math.abs(use[i][k]));
      }
      for (let k = 0; k < count; k++) use[i][k] /= largest;
      scaledLimits[i] = limit === Infinity ? 1 : limit / largest;
      basis[i] = count + i;
    }
    atCap.fill(0);
    isBasic.fill(0);
    isBasic.fill(1, count, count + nRows);
    for (let step = 0; step < 4000; step++) {
      for (let i = 0; i < nRows; i++) {
        both[i][0] = scaledLimits[i];
        for (let k = 0; k < count; k++) if (atCap[k]) both[i][0] -= use[i][k] * capOf(k);
        worths[i][0] = valueOf(basis[i]);
        for (let k = 0; k < nRows; k++) { matrix[i][k] = rateOf(i, basis[k], count); turned[k][i] = matrix[i][k]; }
      }
      solveSmall(turned, worths);
      let entering = -1, gainMost = 1e-12 * scale;
      for (let j = 0; j < count + nRows; j++) {
        if (isBasic[j]) continue;
        let gain = valueOf(j);
        for (let i = 0; i < nRows; i++) gain -= worths[i][0] * rateOf(i, j, count);
        if (atCap[j]) gain = -gain;
        if (gain > gainMost) { entering = j; gainMost = gain; if (step > 50 * (count + nRows)) break; }
      }
      const direction = entering >= 0 && atCap[entering] ? -1 : 1;
      for (let i = 0; i < nRows; i++) both[i][1] = entering >= 0 ? rateOf(i, entering, count) : 0;
      solveSmall(matrix, both);
      if (entering < 0) break;
      let reach = capOf(entering), leaving = -1, toCap = 0;
      for (let k = 0; k < nRows; k++) {
        const rate = direction * both[k][1], value = both[k][0], cap = capOf(basis[k]);
        let length = Infinity, isTop = 0;
        if (rate > 1e-12) length = Math.max(value, 0) / rate;
        else if (rate < -1e-12 && cap < Infinity) { length = Math.max(cap - value, 0) / -rate; isTop = 1; }
        if (length < reach) { reach = length; leaving = k; toCap = isTop; }
      }
      if (leaving < 0) { atCap[entering] = 1 - atCap[entering]; continue; }
      atCap[basis[leaving]] = toCap;
      isBasic[basis[leaving]] = 0;
      atCap[entering] = 0;
      isBasic[entering] = 1;
      basis[leaving] = entering;
    }
    for (let k = 0; k < count; k++) if (atCap[k]) { bundle[ranked[k]] = capOf(k); bought[many++] = ranked[k]; }
    for (let k = 0; k < nRows; k++) {
      if (basis[k] >= count) continue;
      const i = ranked[basis[k]], unit = Math.min(caps[i], 1);
      if (both[k][0] > 1e-9 * unit) { bundle[i] = Math.min(both[k][0], caps[i]); bought[many++] = i; }
    }
    return many;
  }

  function quantile(sorted, p) {
    const place = (sorted.length - 1) * p, low = Math.floor(place), high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
  }

  function interval(values) {
    let sum = 0;
    for (const value of values) sum += value;
    const sorted = Float64Array.from(values).sort();
    return [sum / values.length, quantile(sorted, market.tails[0]), quantile(sorted, market.tails[1])];
  }

  // A set of goods as one number: two hashes of 32 and 21 bits, which sets share once in some 10^15 pairs.
  const hashes = new Int32Array(2 * n);
  for (let k = 0, state = 1; k < 2 * n; k++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5 | 0;
    hashes[k] = Math.imul(state ^ (state >>> 12), 0x297a2d39);
  }

  function keyOf(many) {
    let high = 0, low = 0;
    for (let k = 0; k < many; k++) { high ^= hashes[2 * bought[k]]; low ^= hashes[2 * bought[k] + 1]; }
    return (high >>> 0) * 2097152 + (low >>> 11);
  }

  // What all customers buy: for each good, all goods, revenue and, where costs are known, profit (mean, lower, upper);
  // and the most common baskets.
  function answer(utilities, prices, budget) {
    const offered = [];
    for (let i = 0; i < n; i++) if (prices[i] < Infinity) offered.push(i);
    const demand = Array.from({ length: n }, () => new Float64Array(nDraws));
    const total = new Float64Array(nDraws), revenue = new Float64Array(nDraws), profit = new Float64Array(nDraws);
    const baskets = new Map();
    let everybody = 0;
    for (let s = 0; s < nDraws; s++) {
      let counted = 0;
      for (let m = 0; m < nCustomers; m++) {
        const first = (s * nCustomers + m) * size, many = buy(utilities, first, offered, prices, budget);
        if (many < 0) continue;
        counted++;
        for (let k = 0; k < many; k++) demand[bought[k]][s] += bundle[bought[k]];
        const key = keyOf(many), basket = baskets.get(key);
        if (basket) basket.count++; else baskets.set(key, { first, count: 1 });
      }
      everybody += counted;
      for (const i of offered) {
        demand[i][s] /= Math.max(counted, 1);
        total[s] += demand[i][s];
        revenue[s] += prices[i] * demand[i][s];
        if (market.costs) profit[s] += (prices[i] - market.costs[i]) * demand[i][s];
      }
    }
    const common = Array.from(baskets.values()).sort((a, b) => b.count - a.count).slice(0, market.baskets);
    const goodsOf = (first) => Array.from(bought.subarray(0, buy(utilities, first, offered, prices, budget)));
    const nothing = baskets.get(keyOf(0));
    return {
      goods: demand.map(interval), total: interval(total), revenue: interval(revenue), profit: interval(profit),
      baskets: common.map(({ first, count }) => ({
        goods: goodsOf(first).sort((a, b) => a - b), share: count / everybody,
      })),
      nothing: nothing ? nothing.count / everybody : 0,
    };
  }

  const shown = (value) => {
    if (value < 0) return `−${shown(-value)}`;
    const size = Math.abs(value);
    if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
    if (size >= 100) return value.toFixed(0);
    return size >= 10 ? value.toFixed(1) : value.toFixed(size >= 1 ? 2 : 3);
  };
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const hasIntervals = nDraws > 1;
  const between = (triple) => (hasIntervals ? `${shown(triple[1])} to ${shown(triple[2])}` : "");

  function setText(node, text, value) {
    node.textContent = text;
    node.dataset.value = value;
  }

  function showGood(row, triple, base, scale) {
    const output = row.querySelector("output");
    setText(output, shown(triple[0]), triple[0]);
    output.dataset.lower = triple[1];
    output.dataset.upper = triple[2];
    row.querySelector(".range").textContent = between(triple);
    const part = (value) => `${Math.min(100, Math.max(0, (100 * value) / scale))}%`;
    const [mean, band, mark] = [row.querySelector(".bar i"), row.querySelector(".bar b"), row.querySelector(".bar u")];
    mean.style.width = part(triple[0]);
    band.style.left = part(triple[1]);
    band.style.width = part(hasIntervals ? triple[2] - triple[1] : 0);
    mark.style.left = `calc(${part(base)} - 2px)`;
  }

  function showBaskets(baskets) {
    const items = baskets.map((basket) => {
      const item = document.createElement("li");
      const bar = item.appendChild(document.createElement("span"));
      bar.className = "bar";
      bar.appendChild(document.createElement("i")).style.width = `${100 * basket.share}%`;
      const share = item.appendChild(document.createElement("span"));
      share.className = "number";
      setText(share, percent(basket.share), basket.share);
      const names = item.appendChild(document.createElement("span"));
      if (!basket.goods.length) names.textContent = "nothing";
      basket.goods.slice(0, 6).forEach((i, k) => {
        if (k) names.append(" + ");
        names.appendChild(document.createElement("bdi")).textContent = market.goods[i];
      });
      if (basket.goods.length > 6) names.append(` and ${basket.goods.length - 6} more`);
      item.dataset.goods = basket.goods.join(" ");
      return item;
    });
    find("baskets").replaceChildren(...items);
  }

  // A slider from nothing, or a fifth, to three times the usual value, in steps of about a hundredth. What counts is the
  // last value that was one: an entry that is empty or negative is marked, and does nothing.
  function setUp(slider, number, usual, least, move) {
    const value = usual > 0 ? usual : 1, step = 10 ** (Math.floor(Math.log10(value)) - 2);
    const digits = Math.max(0, -Math.floor(Math.log10(value)) + 2);
    const places = (x) => (Math.round(x / step) * step).toFixed(digits);
    slider.step = step.toFixed(digits);
    slider.min = least * value > 0 ? places(Math.max(least * value, step)) : "0";
    slider.max = places(3 * value);
    let last = usual;
    const put = (x) => { last = number.value = slider.value = x; number.classList.remove("wrong"); };
    slider.addEventListener("input", () => {
      last = Number(slider.value);
      number.value = slider.value;
      number.classList.remove("wrong");
      move();
    });
    number.addEventListener("input", () => {
      const x = Number(number.value), isRight = number.value !== "" && Number.isFinite(x) && (least > 0 ? x > 0 : x >= 0);
      number.classList.toggle("wrong", !isRight);
      if (isRight) { last = slider.value = x; move(); }
    });
    return { put, value: () => last };
  }

  function startPanel() {
    const utilities = makeUtilities();
    const rows = all("#rows .line");
    let base = null, isWaiting = false;
    const parts = rows.map((row) => {
      const place = Number(row.dataset.place);
      const [number, slider] = [row.querySelector("input[type=number]"), row.querySelector("input[type=range]")];
      const box = row.querySelector("input[type=checkbox]");
      const price = setUp(slider, number, market.prices[place], 0.2, later);
      box.addEventListener("change", later);
      return { row, place, number, slider, box, price };
    });
    const hasBudget = market.budget !== null;
    const money = hasBudget ? setUp(find("budget"), find("budget-number"), market.budget, 0, later) : null;
    for (const node of all(".needs-budget")) node.hidden = !hasBudget;
    const others = all(".limit").map((node) => {
      const place = Number(node.dataset.limit), usual = market.limits[place].most;
      const [slider, number] = [node.querySelector("input[type=range]"), node.querySelector("input[type=number]")];
      return { place, usual, limit: setUp(slider, number, usual, 0, later) };
    });

    function later() {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => { isWaiting = false; update(); });
    }

    function update() {
      const prices = new Float64Array(n).fill(Infinity), budget = hasBudget ? money.value() : Infinity;
      for (const part of parts) {
        part.row.classList.toggle("withdrawn", !part.box.checked);
        part.number.disabled = part.slider.disabled = !part.box.checked;
        if (part.box.checked) prices[part.place] = part.price.value();
      }
      for (const other of others) limits[other.place] = other.limit.value();
      const found = answer(utilities, prices, budget);
      base = base || found;
      const scale = Math.max(1e-12, ...found.goods.map((g) => g[2]), ...base.goods.map((g) => g[2]));
      for (const part of parts) showGood(part.row, found.goods[part.place], base.goods[part.place][0], scale);
      setText(find("revenue"), shown(found.revenue[0]), found.revenue[0]);
      setText(find("total"), shown(found.total[0]), found.total[0]);
      if (market.costs) setText(find("profit"), shown(found.profit[0]), found.profit[0]);
      for (const id of market.costs ? ["revenue", "total", "profit"] : ["revenue", "total"]) {
        find(id).closest("div").querySelector(".range").textContent = between(found[id]);
        find(id).dataset.lower = found[id][1];
        find(id).dataset.upper = found[id][2];
      }
      const spent = hasBudget && budget > 0 ? found.revenue[0] / budget : 0;
      setText(find("spent"), percent(spent), spent);
      setText(find("nothing"), percent(found.nothing), found.nothing);
      showBaskets(found.baskets);
    }

    function reset() {
      for (const part of parts) { part.price.put(market.prices[part.place]); part.box.checked = market.offered[part.place]; }
      if (hasBudget) money.put(market.budget);
      for (const other of others) other.limit.put(other.usual);
      update();
    }

    find("reset").addEventListener("click", reset);
    find("panel").hidden = false;
    reset();
  }

  // Long lists: the first rows show until unfolded; a search shows every row whose name holds the text.
  function startFolding(list) {
    const items = list.tagName === "TABLE" ? all("tbody tr", list) : Array.from(list.children);
    const button = document.querySelector(`[data-unfold="${list.id}"]`);
    const search = document.querySelector(`[data-filter="${list.id}"]`);
    let isOpen = false;
    const show = () => {
      const wanted = search ? search.value.trim().toLowerCase() : "";
      items.forEach((item, k) => {
        const isShown = wanted ? item.textContent.toLowerCase().includes(wanted) : isOpen || k < Number(list.dataset.fold);
        item.classList.toggle("folded", !isShown);
      });
      if (button) button.hidden = wanted !== "";
    };
    if (search) search.addEventListener("input", show);
    if (button) {
      const closed = button.textContent;
      button.addEventListener("click", () => {
        isOpen = !isOpen;
        button.textContent = isOpen ? "Show fewer" : closed;
        button.setAttribute("aria-expanded", String(isOpen));
        show();
      });
    }
    show();
  }

  all("[data-fold]").forEach(startFolding);
  if (find("panel")) startPanel(); // none where prices move tastes: these customers are those at the typical prices
})();
