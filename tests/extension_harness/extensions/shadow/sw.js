// Bears the name that a site's own service worker has.
chrome.runtime.onMessage.addListener(() => {});
