// Takes the code of a reset link from the address into the form, and out of the
// address. Without this, the code is typed into the form.
"use strict";

(() => {
	const code = document.getElementById("code");

	function take() {
		const text = location.hash.slice(1);
		if (!code || !/^[\w-]{48}$/.test(text)) {
			return;
		}
		code.value = text;
		history.replaceState(null, "", location.pathname);
		for (const part of document.querySelectorAll("[data-code], [data-asking]")) {
			part.hidden = true;
		}
		document.getElementById("new").focus();
	}

	take();
	window.addEventListener("hashchange", take);
})();
