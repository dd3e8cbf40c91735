// The only scripted behaviour of the embedded web: see envs/site.py.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-dismiss]");
  if (!button) return;
  if (button.dataset.cookie) document.cookie = button.dataset.cookie + "; path=/";
  document.getElementById(button.dataset.dismiss)?.remove();
});
