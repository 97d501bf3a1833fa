const root = document.documentElement;

// setTheme shows all in the light or the dark colours, which plots must be drawn anew for.
export function setTheme(theme, redraw) {
  root.dataset.theme = theme;
  document.querySelector("#theme").textContent = theme === "dark" ? "Light" : "Dark";
  redraw();
}

// followTheme shows the colours that the person prefers, until the button is pressed for the other ones.
export function followTheme(redraw) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const prefer = () => setTheme(dark.matches ? "dark" : "light", redraw);
  dark.addEventListener("change", prefer);
  document.querySelector("#theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark", redraw));
  prefer();
}
