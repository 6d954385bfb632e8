// Lets new lines of the log appear by themselves. Everything else on these
// pages works without scripts, and so do they: then a reload shows new lines.
(function () {
	"use strict";
	var state = document.getElementById("live");
	var list = document.getElementById("lines");
	if (!state || !list || !window.EventSource) {
		return;
	}
	var keep = Math.max(50, parseInt(state.dataset.keep, 10) || 200);
	var control = document.getElementById("live-control");
	var pause = document.getElementById("live-pause");
	var paused = false;
	var waiting = [];

	function part(item, tag, text) {
		var e = document.createElement(tag);
		e.textContent = text; // never as HTML: lines have texts of strangers in them
		item.append(e, " ");
	}

	function add(line) {
		var item = document.createElement("li");
		item.className = line.level;
		part(item, "time", line.time);
		part(item, "b", line.level);
		part(item, "span", line.message);
		part(item, "i", line.fields);
		list.append(item);
		while (list.children.length > keep) {
			list.firstElementChild.remove();
		}
	}

	function show(lines) {
		var atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
		lines.forEach(add);
		if (atEnd) {
			list.scrollTop = list.scrollHeight;
		}
	}

	function say(text) {
		if (state.textContent !== text) {
			state.textContent = text;
		}
	}

	var source = new EventSource(state.dataset.stream);
	source.onopen = function () {
		control.hidden = false;
		say("Live: new lines appear at the end.");
	};
	source.onerror = function () {
		say(source.readyState === EventSource.CLOSED ? "No longer live. Reload the page." : "Cut off; trying again.");
	};
	source.onmessage = function (event) {
		var line = JSON.parse(event.data);
		if (!paused) {
			show([line]);
			return;
		}
		waiting.push(line);
		if (waiting.length > keep) {
			waiting.shift();
		}
	};
	source.addEventListener("missed", function (event) {
		show([{ level: "warn", time: "", message: event.data + " lines came too fast to be shown", fields: "" }]);
	});
	pause.addEventListener("click", function () {
		paused = !paused;
		pause.setAttribute("aria-pressed", String(paused));
		pause.textContent = paused ? "Go on" : "Pause";
		if (!paused) {
			show(waiting);
			waiting = [];
		}
	});
	window.addEventListener("pagehide", function () { source.close(); });
	list.scrollTop = list.scrollHeight;
})();
