/* Sends what stands in a form of the API's page, and shows what came back. The token is read from its field each time. */
"use strict";
(() => {
	const HEADERS = ["Retry-After", "Idempotent-Replayed", "WWW-Authenticate"];

	const filled = (call, place) => [...call.querySelectorAll(`[data-place=${place}]`)].filter((field) => field.value !== "");

	function address(call) {
		let path = call.dataset.path;
		for (const field of call.querySelectorAll("[data-place=path]")) {
			path = path.replace(`{${field.dataset.name}}`, encodeURIComponent(field.value.trim()));
		}
		const asked = new URLSearchParams(filled(call, "query").map((field) => [field.dataset.name, field.value]));
		return asked.size ? `${path}?${asked}` : path;
	}

	function request(call) {
		const headers = { Authorization: `Bearer ${document.getElementById("token").value.trim()}` };
		for (const field of filled(call, "header")) headers[field.dataset.name] = field.value;
		const body = call.querySelector("[data-body]:is(textarea)")?.value;
		if (body !== undefined) headers["Content-Type"] = "application/json";
		return { method: call.dataset.method, headers, body, credentials: "omit", cache: "no-store", redirect: "error" };
	}

	function pretty(text) {
		/* numbers stay as they came: only what JSON carries exactly is written anew */
		try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
	}

	function tell(call, line, text) {
		const said = document.createElement("p");
		said.textContent = line;
		const parts = [said];
		if (text) {
			const shown = document.createElement("pre");
			shown.textContent = text;
			parts.push(shown);
		}
		call.querySelector(".answer").replaceChildren(...parts);
	}

	async function send(call) {
		const missing = [...call.querySelectorAll("[data-place=path]")].find((field) => !field.value.trim());
		if (missing || !document.getElementById("token").value.trim()) {
			const field = missing || document.getElementById("token");
			tell(call, missing ? `Fill in ${missing.dataset.name}.` : "Fill in your API token, at the top.");
			field.focus();
			return;
		}
		const button = call.querySelector("[data-send]");
		button.disabled = true;
		tell(call, "Sent …");
		try {
			const answer = await fetch(address(call), request(call));
			const told = HEADERS.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
			tell(call, [`${answer.status} ${answer.statusText}`, ...told].join(" · "), pretty(await answer.text()));
		} catch (error) {
			const unsent = error instanceof TypeError && /header|ISO-8859-1|ByteString/i.test(error.message);
			tell(call, unsent ? "Not sent: a token and a header take plain characters only." : "No answer that proves anything. It may have been done: ask again in the same words.");
		} finally {
			button.disabled = false;
		}
	}

	/* What is tried is really done: a number and UUIDs of its own each time the page is opened, so that it meets nobody's orders. */
	const uuid = () => {
		const bytes = crypto.getRandomValues(new Uint8Array(16));
		bytes[6] = (bytes[6] & 15) | 64;
		bytes[8] = (bytes[8] & 63) | 128;
		return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
	};
	const number = 100000 + 2 * (crypto.getRandomValues(new Uint32Array(1))[0] % 450000);
	const fresh = (body) => body
		.replace(/\b48[34]\b/g, (made) => number + Number(made) - 483)
		.replace(/"(attempt_id|start_id|command_id)": "[^"]*"/g, (_, name) => `"${name}": "${uuid()}"`);

	document.getElementById("no-script").remove();
	document.querySelectorAll(".call").forEach((call) => {
		const button = call.querySelector("[data-send]");
		if (!button) return;
		button.disabled = false;
		const body = call.querySelector("textarea");
		if (body) body.value = fresh(body.value);
		call.querySelectorAll("option").forEach((option) => { option.dataset.body = fresh(option.dataset.body); });
		button.addEventListener("click", () => send(call));
		call.querySelector("[data-example]")?.addEventListener("change", (event) => {
			call.querySelector("textarea").value = event.target.selectedOptions[0].dataset.body;
		});
	});

	/* an address may name a call: /api/v1/docs#claim */
	const open = () => { const call = document.getElementById(location.hash.slice(1)); if (call?.matches(".call")) call.open = true; };
	window.addEventListener("hashchange", open);
	open();
})();
