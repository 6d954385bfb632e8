// Renews the parts of a page that show the list when the list changes. The page
// is complete without this: each part is taken from the page as the server sends
// it to everybody.
"use strict";

(() => {
	const pause = 5000; // least time in ms between two renewals
	const parts = () => document.querySelectorAll("[data-live]");
	const said = document.getElementById("live");
	const address = document.body.dataset.events;
	if (!address || !said || parts().length === 0 || !window.EventSource) {
		return;
	}

	const works = said.dataset.works ?? "This page updates itself.";
	let due = false; // something changed that the page does not show yet
	let busy = false;
	let last = 0;
	let timer = 0;

	function say(text) {
		said.hidden = false;
		if (said.textContent !== text) {
			said.textContent = text;
		}
	}

	// Where the keyboard is must survive: the link with the same target gets the
	// focus again.
	function focused() {
		const here = document.activeElement;
		return here && here.closest("[data-live]") ? here.getAttribute("href") : null;
	}

	function take(fresh) {
		const target = focused();
		for (const part of parts()) {
			const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
			if (!next || next.isEqualNode(part)) {
				continue;
			}
			const open = [...part.querySelectorAll("details")].map((d) => d.open);
			next.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
			part.replaceWith(document.adoptNode(next));
		}
		if (target !== null) {
			const link = [...document.querySelectorAll("[data-live] a")].find((a) => a.getAttribute("href") === target);
			link?.focus({ preventScroll: true });
		}
	}

	async function renew() {
		timer = 0;
		if (busy || document.hidden) {
			return;
		}
		busy = true;
		due = false;
		last = Date.now();
		try {
			const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
			if (answer.ok) {
				take(new DOMParser().parseFromString(await answer.text(), "text/html"));
				say(works);
			}
		} catch {
			say(said.dataset.failed ?? "This page cannot update itself at the moment.");
		}
		busy = false;
		if (due) {
			soon();
		}
	}

	function soon() {
		due = true;
		if (timer === 0 && !busy && !document.hidden) {
			timer = setTimeout(renew, Math.max(250, last + pause - Date.now()));
		}
	}

	const events = new EventSource(address);
	for (const kind of ["added", "changed", "removed", "rooms", "reset"]) {
		events.addEventListener(kind, soon);
	}
	events.addEventListener("open", () => {
		say(works);
		if (last === 0) { // the list may have changed since the page was written
			soon();
		}
	});
	events.addEventListener("error", () => {
		if (events.readyState === EventSource.CLOSED) {
			said.hidden = true;
		}
	});
	document.addEventListener("visibilitychange", () => {
		if (!document.hidden && due) {
			soon();
		}
	});
	window.addEventListener("pagehide", () => events.close());
})();
