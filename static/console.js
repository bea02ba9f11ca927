/* The console's keys, dialogs and countdown. Every page works without it. */
"use strict";
(() => {
	const KEYS = "tieout.keys";
	const first = (selector, root = document) => root.querySelector(selector);

	const stored = () => { try { return localStorage.getItem(KEYS); } catch { return null; } };
	const store = (value) => { try { localStorage.setItem(KEYS, value); } catch { /* storage is off: this page only */ } };
	let keysOn = stored() !== "off";

	/* a dialog that came open from the server becomes a modal one; its way out is its link */
	function raise(root) {
		const dialog = first("dialog[data-modal][open]", root);
		if (!dialog || dialog.matches(":modal")) return;
		document.querySelectorAll("[inert]").forEach((part) => { part.inert = false; });
		dialog.removeAttribute("open");
		dialog.showModal();
		dialog.addEventListener("cancel", (event) => {
			event.preventDefault();
			first("[data-back]", dialog).click();
		});
	}

	/* seconds left come from the server, so that this machine's clock does not matter */
	function count(root) {
		root.querySelectorAll("[data-left]").forEach((part) => {
			const end = performance.now() + 1000 * Number(part.dataset.left);
			part.removeAttribute("data-left");
			const tick = () => {
				const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
				part.textContent = left ? `${left} s to undo` : "";
				if (left && part.isConnected) setTimeout(tick, 250);
			};
			tick();
		});
	}

	/* what is long on a narrow screen stands open on a wide one; without this it is open everywhere */
	function fold(root) {
		if (matchMedia("(max-width: 47.99rem)").matches) root.querySelectorAll("details[data-wide]").forEach((part) => { part.open = false; });
	}

	function step(by) {
		const links = [...document.querySelectorAll(".queue .q-key a, #decisions li > a")];
		const rowOf = (part) => part.closest("tr, li");
		const here = links.findIndex((link) => rowOf(link) === rowOf(document.activeElement));
		const further = first(by > 0 ? "a[rel=next]" : "a[rel=prev]");
		if (!links.length || further && !links[here + by] && here >= 0) {
			further?.click();
			return;
		}
		const link = links[Math.min(Math.max(here + by, 0), links.length - 1)];
		first("main [aria-current=true]")?.removeAttribute("aria-current");
		rowOf(link).setAttribute("aria-current", "true");
		link.focus();
		link.scrollIntoView({ block: "nearest" });
	}

	const acts = {
		j: () => step(1),
		k: () => step(-1),
		c: () => first("[data-key=c]")?.click(),
		r: () => first("[data-key=r]")?.click(),
		"/": () => { first("#find").focus(); first("#find").select(); },
		"?": () => first("#help").showModal(),
	};

	document.addEventListener("keydown", (event) => {
		const act = acts[event.key];
		if (!act || event.ctrlKey || event.metaKey || event.altKey || event.repeat && event.key === "c") return;
		/* a dialog that has just closed may keep the focus in its own, hidden field for another frame */
		if (first("dialog[open]") || event.target.closest("input, select, textarea")?.checkVisibility()) return;
		if (!keysOn && event.key !== "?") return;
		event.preventDefault();
		act();
	});

	document.addEventListener("change", (event) => {
		if (event.target.id === "keys-on") {
			keysOn = event.target.checked;
			store(keysOn ? "on" : "off");
		}
	});

	/* what differs is marked at the server too, once it is reviewed */
	document.addEventListener("input", ({ target }) => {
		const mark = target.parentElement?.querySelector("[data-changed]");
		if (mark) mark.hidden = target.value === target.closest("td").dataset.was;
	});

	/* what was sent and never taken, because a sign-in had ended meanwhile, is there again after the next one;
	   only for the same person, on the same page, in this window */
	const KEPT = "tieout.written";
	const who = () => first("[data-who]")?.textContent;
	const own = (form) => [...form.querySelectorAll("textarea, input:not([type=hidden], [type=file])")];
	const typed = (field) => (field.type === "radio" || field.type === "checkbox") ? field.checked : field.value;

	function keep(form) {
		const fields = own(form).map((field) => [field.name, field.type === "radio" ? field.value : "", typed(field)]);
		try {
			sessionStorage.setItem(KEPT, JSON.stringify({ at: location.pathname, who: who(), fields }));
		} catch { /* storage is off: it has to be written again */ }
	}

	function restore() {
		let kept = null;
		try {
			kept = JSON.parse(sessionStorage.getItem(KEPT));
			if (kept && !first("[data-unsent]")) sessionStorage.removeItem(KEPT);
		} catch { /* nothing was kept */ }
		const form = first("dialog form[method=post]");
		if (!kept || !form || kept.at !== location.pathname || kept.who !== who()) return;
		const fields = own(form);
		if (fields.some((field) => field.tagName === "TEXTAREA" && field.value)) return;
		for (const [name, value, was] of kept.fields) {
			const field = fields.find((one) => one.name === name && (!value || one.value === value));
			if (!field) continue;
			if (typeof was === "boolean") field.checked = was;
			else field.value = was;
		}
	}

	/* a file may be dropped on all of its label */
	for (const name of ["dragover", "drop"]) {
		document.addEventListener(name, (event) => {
			const input = first("input[type=file]", event.target.closest("[data-drop]") || document.createElement("i"));
			if (!input) return;
			event.preventDefault();
			if (name === "drop" && event.dataTransfer.files.length) input.files = event.dataTransfer.files;
		});
	}

	/* one click is one command at the server too; this only spares the second request */
	document.addEventListener("submit", (event) => {
		const form = event.target;
		if (first("textarea", form)) keep(form);
		if (form.method !== "post" || form.hasAttribute("hx-post")) return;
		if (form.dataset.sent) event.preventDefault();
		form.dataset.sent = "yes";
	});
	window.addEventListener("pageshow", () => {
		document.querySelectorAll("[data-sent]").forEach((form) => form.removeAttribute("data-sent"));
	});

	/* an answer that never came proves nothing, here as anywhere */
	for (const trouble of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
		document.addEventListener(trouble, (event) => {
			if (event.detail.requestConfig?.verb !== "post") return;
			const said = document.createElement("p");
			said.className = "said";
			said.setAttribute("role", "alert");
			said.textContent = "No answer that proves anything. It may have been done: load the page again to see.";
			first("main").prepend(said);
		});
	}

	document.addEventListener("htmx:afterSwap", () => {
		const main = first("main");
		count(main);
		fold(main);
		first("#told").textContent = main.dataset.told || "";
		document.title = main.dataset.title || document.title;
	});

	document.addEventListener("DOMContentLoaded", () => {
		first("#keys-on").checked = keysOn;
		count(document);
		fold(document);
		raise(document);
		restore();
	});
})();
