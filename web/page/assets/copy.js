// Copies the text of data-copy when its button is pressed. Without scripts the
// buttons are hidden, and a click on the text itself selects all of it.
"use strict";

(() => {
	document.documentElement.classList.add("scripted");

	// The clipboard of a page without HTTPS: the selection is copied.
	function copySelected(text) {
		const field = document.createElement("textarea");
		field.value = text;
		field.readOnly = true;
		field.className = "unseen";
		document.body.append(field);
		field.select();
		const done = document.execCommand("copy");
		field.remove();
		return done;
	}

	async function copy(text) {
		if (navigator.clipboard) {
			try {
				await navigator.clipboard.writeText(text);
				return true;
			} catch {
				// The browser refused; the selection may work.
			}
		}
		return copySelected(text);
	}

	// Says what happened, for screen readers too, then restores the button.
	document.addEventListener("click", async (event) => {
		const button = event.target.closest("button[data-copy]");
		if (!button) {
			return;
		}
		const done = await copy(button.dataset.copy);
		button.focus({ preventScroll: true });
		const said = document.getElementById("copied");
		const label = button.dataset.label ?? button.textContent;
		button.dataset.label = label;
		const texts = { copied: "Copied", failed: "Not copied", advice: "The browser does not allow copying. Select the text instead.", ...said?.dataset };
		button.textContent = done ? texts.copied : texts.failed;
		if (said) {
			said.textContent = done ? `${texts.copied} ${button.dataset.copy}` : texts.advice;
		}
		setTimeout(() => { button.textContent = label; }, 2000);
	});
})();
