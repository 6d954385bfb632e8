// Package onehost repairs requests of HTTP that state their host twice, as some games of
// consoles do. The standard library refuses such requests.
//
// Only a line that says the same as the first Host line of the same header is removed.
// Requests that name two hosts are left for the server to refuse: two programs on the way
// could disagree about which one counts. So is everything else that is unusual: a header
// line that continues on the next one, more than a few repetitions, very long lines.
//
// Only the first header on a connection is looked at: the server that uses the package
// answers one request on each.
package onehost
