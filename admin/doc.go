// Package admin serves the operations of package operator over HTTP, as an API
// (/api/v1/) and as pages for people, and has the [Client] with which the command
// line calls the API of the running daemon.
//
// It is not the public web service and shows nothing to players.
//
// # Without a token
//
// /healthz, /readyz and /metrics need none; neither does /assets/ of the page.
//
// # API
//
// Every path under /api/v1/, known or not, requires "Authorization: Bearer
// TOKEN" and answers 401 without it. Bodies and answers are JSON unless the
// route says otherwise; errors are {"error": "..."} with 400, 401, 404, 409,
// 500 or 503. GET /api/v1/routes lists and describes all routes.
//
// # Pages
//
// All other paths are pages. A login with the token opens a session, which a
// cookie identifies; each form has a token that proves that it comes from a
// page of that session. Pages are only served under known host names, so that a
// foreign site cannot point its own name at them. They work without scripts;
// the script only adds new lines to the log.
//
// Names and log lines may come from strangers. Characters in them that would
// hide or change the text around them are made visible; see show.
package admin
