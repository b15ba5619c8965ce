// The login: a modal dialog over the view, which stays as it is behind it. It closes once the server takes the token.

import { h, put, shown } from "./dom.js";

const TITLE = "Log in · Signet";
const HELP = "The bearer token that callers of this server send. It stays in this page's memory and is gone when you "
  + "close or reload it.";

/** Ask for a token until `attempt`, a function of a token, succeeds; return the token and what `attempt` gave. */
export function askForToken(why, attempt) {
  return new Promise((resolve) => new Login(attempt, resolve).open(why));
}

class Login {
  constructor(attempt, resolve) {
    Object.assign(this, { attempt, resolve, isTrying: false, isDone: false });
    const rules = { type: "password", name: "token", autocomplete: "off", required: true };
    this.field = h("input", { id: "token", ...rules, "aria-describedby": "token-help" });
    this.error = h("p", { id: "token-error", class: "failure", role: "alert", hidden: true });
    this.button = h("button", { type: "submit" }, "Log in");
    this.dialog = h("dialog", { class: "login", "aria-labelledby": "login-title" },
      h("form", { onsubmit: (event) => this.submit(event), novalidate: true },
        h("h1", { id: "login-title" }, "Log in"), h("label", { for: "token" }, "Token"), this.field, this.error,
        h("p", { id: "token-help", class: "help" }, HELP), this.button));
    // Esc does not close it: without a token nothing can be shown.
    this.dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.preventDefault());
    this.dialog.addEventListener("cancel", (event) => event.preventDefault());
    this.dialog.addEventListener("close", () => this.isDone || this.dialog.showModal());
  }

  open(why) {
    this.before = document.title;
    document.title = TITLE;
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.field.focus();
    if (why) this.tell(why);
  }

  /** Tell what is wrong with the token, and let it be written anew. */
  tell(why) {
    put(this.error, shown(why));
    this.error.hidden = false;
    this.field.setAttribute("aria-invalid", "true");
    this.field.setAttribute("aria-describedby", "token-error token-help");
    this.field.select();
  }

  async submit(event) {
    event.preventDefault();
    if (this.isTrying) return;
    const token = this.field.value.trim();
    if (!/^[\x21-\x7e]+$/.test(token)) return this.tell(token ? "A token has no spaces and no such letters." : "The token is missing.");
    this.isTrying = true;
    this.button.textContent = "Logging in";
    try {
      this.close(token, await this.attempt(token));
    } catch (error) {
      this.tell(error.message);
    }
    this.isTrying = false;
    this.button.textContent = "Log in";
  }

  /** Close the dialog; the focus goes back to where it was. */
  close(token, found) {
    this.isDone = true;
    this.dialog.close();
    this.dialog.remove();
    if (document.title === TITLE) document.title = this.before;
    this.resolve({ token, found });
  }
}
