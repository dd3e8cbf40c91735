// The only scripted behaviours of the embedded web: see envs/site.py.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-dismiss]");
  if (!button) return;
  if (button.dataset.cookie) document.cookie = button.dataset.cookie + "; path=/";
  document.getElementById(button.dataset.dismiss)?.remove();
});
for (const element of document.querySelectorAll("[data-late]")) {
  setTimeout(() => element.toggleAttribute("hidden"), Number(element.dataset.late));
}
