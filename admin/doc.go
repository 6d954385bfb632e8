// Package admin is what operators do with the daemon: bans, games, rooms,
// accounts, servers, sessions, backups and a look inside. The same operations are
// served over HTTP (/api/v1/ and a page on the admin address), carried there by
// [Client] for the command line, and done by [Local] on the store directly when
// no daemon runs.
//
// It is not the public web service and shows nothing to players.
//
// # Without a token
//
// /healthz, /readyz and /metrics need none; neither does /assets/ of the page.
//
// # API
//
// Every path under /api/v1/, known or not, wants "Authorization: Bearer TOKEN"
// and answers 401 without. Bodies and answers are JSON unless it says otherwise;
// errors are {"error": "..."} with 400, 401, 404, 409, 500 or 503. GET
// /api/v1/routes lists all routes with what they do; it is the same list as in
// routes.go.
//
// # Page
//
// Everything else is a page for people, at /. Who logs in with the token gets a
// session in a cookie; each form carries a proof that it comes from a page of
// that session. The page is only served under host names that are ours, so that
// no foreign site can have its name lead here. It works without scripts; a
// script only lets new lines of the log appear by themselves.
//
// What strangers sent (names, log lines) is shown with everything visible that
// would hide or change the text around it; see show.
//
// # Audit log
//
// Each change is recorded in the store with who made it, in the same atomic step
// as the change wherever that is one step; see actor.go. What players change on the
// pages of package web stands there too.
package admin
