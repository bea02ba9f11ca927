/* Passkeys: a form with data-passkey asks the browser first, and is sent with what it answers. */
"use strict";
(() => {
	const trouble = document.querySelector("[data-passkey-trouble]");
	const options = () => JSON.parse(document.getElementById("passkey").textContent);

	async function asked(form) {
		if (form.dataset.passkey === "create") {
			const creation = options().creation_options;
			creation.publicKey.authenticatorSelection = {
				...creation.publicKey.authenticatorSelection,
				residentKey: "required", requireResidentKey: true, userVerification: "required",
			};
			return webauthnJSON.create(creation);
		}
		if (form.dataset.passkey === "get") return webauthnJSON.get(options().request_options);
		const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
		return webauthnJSON.get((await answer.json()).request_options);
	}

	for (const form of document.querySelectorAll("form[data-passkey]")) {
		form.hidden = !window.PublicKeyCredential;
		form.addEventListener("submit", async (event) => {
			event.preventDefault();
			event.stopPropagation();
			trouble.textContent = "";
			try {
				form.elements.credential.value = JSON.stringify(await asked(form));
				form.submit();
			} catch (error) {
				trouble.textContent = error.name === "SecurityError"
					? `A passkey belongs to a name, and ${location.hostname} is none that it takes: open this page by its name, here http://localhost, say.`
					: "No passkey was used: it was stopped, or none of yours is known here.";
			}
		});
	}
})();
