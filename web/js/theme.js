// Runs before the page is drawn, so that a chosen theme does not flash. Without a choice the system's is used.
(() => {
  const names = ['light', 'dark'];
  const read = () => {
    try {
      return localStorage.getItem('kernelwright.theme');
    } catch {
      return null;
    }
  };
  const chosen = read();
  if (names.includes(chosen)) document.documentElement.dataset.theme = chosen;
})();
