// Package replica shows the servers of all nodes of a cluster in the list of each.
//
// A node owns the servers that report to it, and puts them into a [cluster.Map];
// the others list these servers with Server.Node set. The package does not decide which servers
// may be listed: the owner did, with limits that count the servers of all nodes. If two nodes own
// one server, because it reports to another node now or because both did not know better,
// master.Registry.PutRemote decides in the same way on all nodes.
package replica
