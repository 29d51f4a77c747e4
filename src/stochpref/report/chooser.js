"use strict";
// One page at a time, each a document of its own, made when it is first chosen.
(() => {
  const pages = JSON.parse(document.getElementById("pages").textContent);
  const find = (id) => document.getElementById(id);
  const made = new Map();

  function show() {
    const chosen = Number(find("group").value);
    if (!made.has(chosen)) made.set(chosen, URL.createObjectURL(new Blob([pages[chosen]], { type: "text/html" })));
    find("page").src = made.get(chosen);
    find("alone").href = made.get(chosen);
  }

  find("group").addEventListener("change", show);
  show();
})();
