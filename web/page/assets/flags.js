
// Replaces flags by the letters of the country on systems without pictures of flags.
(() => {
	// A flag that is drawn has colours; letters and empty boxes have none.
	function drawn() {
		const ground = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
		if (!ground) {
			return true;
		}
		ground.font = "32px system-ui, sans-serif";
		ground.fillText("\u{1F1E9}\u{1F1EA}", 0, 40);
		const dots = ground.getImageData(0, 0, 80, 60).data;
		return dots.some((value, i) => i % 4 === 0 && (value !== dots[i + 1] || value !== dots[i + 2]));
	}

	const letter = (c) => String.fromCodePoint(c.codePointAt(0) - 0x1F1E6 + 65);

	function spell() {
		for (const flag of document.querySelectorAll(".flag:not(.tag)")) {
			flag.textContent = [...flag.textContent].map(letter).join("");
			flag.classList.add("tag");
		}
	}

	if (document.querySelector(".flag") && !drawn()) {
		spell();
		new MutationObserver(spell).observe(document.body, { childList: true, subtree: true });
	}
})();
