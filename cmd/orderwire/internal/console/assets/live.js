// Brings the parts of the page that are marked with data-live up to date, while
// the page is looked at. Without it, the page is as it was when it was loaded.
"use strict";
(() => {
  const every = 3000;
  const parts = () => document.querySelectorAll("[data-live][id]");
  if (parts().length === 0) return;
  let timer = 0;
  let failures = 0;

  async function refresh() {
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of parts()) {
        const now = fresh.getElementById(old.id);
        if (!now || old.innerHTML === now.innerHTML || old.contains(document.activeElement)) continue;
        const left = [...old.querySelectorAll(".wide")].map((e) => e.scrollLeft);
        old.replaceChildren(...now.childNodes);
        old.querySelectorAll(".wide").forEach((e, i) => { e.scrollLeft = left[i] || 0; });
      }
      failures = 0;
    } catch {
      failures = Math.min(failures + 1, 5);
    }
    plan();
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

// Offers the viewer's own zone in the form of the zones.
(() => {
  const form = document.getElementById("zone");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!form || !own) return;
  const there = [...form.options].find((o) => o.value === own);
  if (there) there.textContent = own + " (yours)";
  else form.add(new Option(own + " (yours)", own), 1);
})();
