// Brings the parts of the page that are marked with data-live up to date, while
// the page is looked at. Without it, the page is as it was when it was loaded.
"use strict";
(() => {
  const every = 3000;
  const parts = () => document.querySelectorAll("[data-live][id]");
  const address = document.querySelector("link[rel=canonical]")?.href || location.href; // of a form's answer too
  if (parts().length === 0) return;
  let timer = 0;
  let failures = 0;
  let good = new Date();

  async function refresh() {
    try {
      const answer = await fetch(address, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of parts()) {
        const now = fresh.getElementById(old.id);
        if (!now && old.id === "live-missing") return location.reload(); // there is something now
        if (now) renew(old, now);
      }
      failures = 0;
      good = new Date();
    } catch {
      failures = Math.min(failures + 1, 5);
    }
    tell();
    plan();
  }

  // renew leaves alone what has the focus, but for what keeps its place in a part:
  // what unfolds, and what is scrolled.
  function renew(old, now) {
    const folds = old.querySelectorAll("details");
    now.querySelectorAll("details").forEach((e, i) => { e.open = Boolean(folds[i]?.open); });
    if (old.innerHTML === now.innerHTML) return;
    const places = (e) => [...e.querySelectorAll("summary, .wide")];
    const at = places(old).indexOf(document.activeElement);
    if (at < 0 && old.contains(document.activeElement)) return;
    const left = [...old.querySelectorAll(".wide")].map((e) => [e.scrollLeft, e.scrollTop]);
    old.replaceChildren(...now.childNodes);
    old.querySelectorAll(".wide").forEach((e, i) => { [e.scrollLeft, e.scrollTop] = left[i] || [0, 0]; });
    if (at >= 0) places(old)[at]?.focus({ preventScroll: true });
  }

  // tell says when the page is no longer kept up to date.
  function tell() {
    const stale = document.getElementById("stale");
    if (!stale || stale.hidden === failures < 2) return;
    stale.hidden = failures < 2;
    stale.textContent = stale.hidden ? "" : `Not up to date: the service has not answered since ${good.toLocaleTimeString()}. Load the page again, and log in if that is asked for.`;
  }

  function plan() {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, every << failures);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else refresh();
  });
  plan();
})();

// Shows where the page stands in a menu that is wider than the screen.
(() => {
  const show = () => document.querySelectorAll("nav [aria-current]").forEach((e) => {
    const list = e.closest("ul");
    const [at, all] = [e.getBoundingClientRect(), list.getBoundingClientRect()];
    list.scrollLeft += at.left + at.width / 2 - all.left - all.width / 2;
  });
  addEventListener("resize", show);
  show();
})();

// Offers the viewer's own zone in the form of the zones.
(() => {
  const form = document.getElementById("zone");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!form || !own) return;
  const there = [...form.options].find((o) => o.value === own);
  if (there) there.textContent = own + " (yours)";
  else form.add(new Option(own + " (yours)", own), 1);
})();
