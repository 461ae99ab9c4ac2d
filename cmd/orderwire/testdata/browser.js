// Looks at the page as it stands, and returns what is wrong with it for people with
// small screens, weak eyes, screen readers or keyboards: an array of texts.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true });
  const say = (what, e) => wrong.push(e ? `${what}: ${e.outerHTML.replace(/\s+/g, " ").slice(0, 160)}` : what);
  const named = (e) => (e.getAttribute("aria-label") || "").trim() !== "" ||
    (e.getAttribute("aria-labelledby") || "").split(/\s+/).some((id) => id && document.getElementById(id)?.textContent.trim());

  const folded = all("details:not([open])");
  folded.forEach((e) => { e.open = true; });
  structure();
  names();
  size();
  contrast();
  folded.forEach((e) => { e.open = false; });
  return wrong;

  function structure() {
    if (!document.documentElement.lang) say("the page names no language");
    if (!document.title.trim()) say("the page has no title");
    if (all("h1").length !== 1) say(`${all("h1").length} elements h1`);
    if (all("main").length !== 1) say(`${all("main").length} elements main`);
    let level = 0;
    for (const h of all("h1, h2, h3, h4, h5, h6")) {
      const n = Number(h.tagName[1]);
      if (n > level + 1) say(`a heading skips a level after h${level}`, h);
      level = n;
    }
    const ids = all("[id]").map((e) => e.id);
    for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) say(`the id ${id} stands twice`);
    for (const e of all("[aria-labelledby], [aria-describedby], label[for]")) {
      for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
        for (const id of (e.getAttribute(name) || "").split(/\s+/)) {
          if (id && !document.getElementById(id)) say(`${name} points to nothing`, e);
        }
      }
    }
    for (const t of all("table")) {
      if (!t.caption?.textContent.trim()) say("a table without a caption", t);
      for (const th of t.querySelectorAll("th:not([scope])")) say("a head without a scope", th);
    }
    if (all("nav").length > 1) all("nav").filter((e) => !named(e)).forEach((e) => say("one of several nav, without a name", e));
  }

  function names() {
    for (const e of all("input:not([type=hidden]), select, textarea")) {
      if (!named(e) && ![...e.labels].some((l) => l.textContent.trim())) say("a field without a label", e);
    }
    for (const e of all("a, button, summary")) {
      if (!named(e) && !e.textContent.trim()) say("a control without a name", e);
    }
    for (const e of all("img, svg, canvas")) {
      const text = e.getAttribute("alt") !== null || e.getAttribute("aria-hidden") === "true" || named(e);
      if (!text || (e.tagName !== "IMG" && e.getAttribute("aria-hidden") !== "true" && e.getAttribute("role") !== "img")) say("a picture without words", e);
    }
    for (const e of all("[tabindex]")) {
      if (e.tabIndex > 0) say("a place of its own in the order of Tab", e);
    }
  }

  // size finds what is too wide for the screen, or too small for a finger.
  function size() {
    const room = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth > room) {
      say(`the page is ${document.scrollingElement.scrollWidth} wide, the screen ${room}`);
      for (const e of all("body *")) {
        if (shown(e) && e.getBoundingClientRect().right > room + 1 && !e.closest(".wide")) say("sticks out", e);
      }
    }
    const least = room < 600 ? 32 : 24;
    const alone = (e) => e.tagName !== "A" || (e.parentElement.textContent.trim() === e.textContent.trim() && least > 24) || e.matches("nav a, .pages a") || (least > 24 && e.matches(".export a, .sort a"));
    for (const e of all("button, select, a, summary, label.check, input:not([type=hidden], [type=checkbox])").filter((e) => shown(e) && alone(e))) {
      const { width, height } = e.getBoundingClientRect(); // of a link in a text, its line is enough
      if (width < least || height < least) say(`${Math.round(width)} by ${Math.round(height)} is small for a finger`, e);
    }
  }

  // contrast holds every text to 4.5 against what is behind it, a large one to 3.
  function contrast() {
    const seen = new Set();
    const look = (e, style, color, what) => {
      const behind = ground(e);
      const ratio = ratioOf(over(color, behind), behind);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const line = `contrast ${ratio.toFixed(2)} of ${what}, ${style.color} on ${behind.slice(0, 3).map(Math.round)}`;
      if (ratio < (large ? 3 : 4.5) && !seen.has(line)) {
        seen.add(line);
        say(line, e);
      }
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const e = texts.currentNode.parentElement;
      if (!texts.currentNode.data.trim() || !shown(e) || e.closest("title, script, style, option, datalist, :disabled")) continue;
      const style = getComputedStyle(e);
      look(e, style, parse(e.closest("svg") ? style.fill : style.color), "a text");
    }
    for (const e of all("input[placeholder], textarea[placeholder]").filter(shown)) {
      const style = getComputedStyle(e, "::placeholder");
      look(e, style, parse(style.color), "a placeholder");
    }
  }

  function parse(color) {
    const n = (color.match(/^rgba?\(([^)]*)\)$/)?.[1] || "").split(/[\s,/]+/).map(Number);
    if (n.length < 3 || n.some(Number.isNaN)) {
      say(`no colour that can be read: ${color}`);
      return [0, 0, 0, 1];
    }
    return n.length === 3 ? [...n, 1] : n;
  }

  // ground is the colour behind an element: those of its ancestors, on the page's.
  function ground(e) {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255, 1]);
  }

  function over([r, g, b, a], under) {
    return [r, g, b].map((c, i) => c * a + under[i] * (1 - a)).concat(1);
  }

  function ratioOf(one, other) {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }

  function luminance(color) {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
})();
