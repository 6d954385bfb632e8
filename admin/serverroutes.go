package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const (
	keptPath   = "/api/v1/servers/kept"
	addedPath  = "/api/v1/servers/added"
	hiddenPath = "/api/v1/servers/hidden"
)

// serverRoutes returns the part of the API that is about single game servers.
func (s *Server) serverRoutes() []Route {
	return []Route{
		{"GET", keptPath, "servers that were added or hidden, here or in the configuration", s.getKept},
		{"PUT", addedPath, "have a server asked and listed: address, protocol, game, by", s.putAdded},
		{"DELETE", addedPath, "forget an added server and take it off the list: ?address=", s.deleteAdded},
		{"PUT", hiddenPath, "keep a server out of what the list shows: address, reason, by", s.putHidden},
		{"DELETE", hiddenPath, "show a hidden server again: ?address=", s.deleteHidden},
	}
}

func (s *Server) getKept(w http.ResponseWriter, r *http.Request) {
	k, err := s.opt.Operator.KeptServers(r.Context())
	answer(s, w, r, k, err)
}

func (s *Server) putAdded(w http.ResponseWriter, r *http.Request) {
	var a storage.AddedServer
	err := body(r, &a)
	if err == nil {
		err = s.opt.Operator.AddServer(r.Context(), a)
	}
	answer(s, w, r, done{1}, err)
}

func (s *Server) deleteAdded(w http.ResponseWriter, r *http.Request) {
	what, err := s.opt.Operator.RemoveServer(r.Context(), r.URL.Query().Get("address"))
	answer(s, w, r, what, err)
}

func (s *Server) putHidden(w http.ResponseWriter, r *http.Request) {
	var h storage.HiddenServer
	err := body(r, &h)
	if err == nil {
		err = s.opt.Operator.HideServer(r.Context(), h)
	}
	answer(s, w, r, done{1}, err)
}

func (s *Server) deleteHidden(w http.ResponseWriter, r *http.Request) {
	a, err := netip.ParseAddrPort(r.URL.Query().Get("address"))
	if err != nil {
		err = fmt.Errorf("%w: address: %w", operator.ErrBadRequest, err)
	} else {
		err = s.opt.Operator.UnhideServer(r.Context(), a)
	}
	answer(s, w, r, removed{1}, err)
}

// KeptServers implements ServerOperator.
func (c *Client) KeptServers(ctx context.Context) (k operator.Kept, err error) {
	err = c.call(ctx, http.MethodGet, keptPath, nil, &k)
	return k, err
}

// AddServer implements ServerOperator.
func (c *Client) AddServer(ctx context.Context, a storage.AddedServer) error {
	return c.call(ctx, http.MethodPut, addedPath, a, nil)
}

// RemoveServer implements ServerOperator.
func (c *Client) RemoveServer(ctx context.Context, address string) (r operator.Removal, err error) {
	err = c.call(ctx, http.MethodDelete, addedPath+"?"+url.Values{"address": {address}}.Encode(), nil, &r)
	return r, err
}

// HideServer implements ServerOperator.
func (c *Client) HideServer(ctx context.Context, h storage.HiddenServer) error {
	return c.call(ctx, http.MethodPut, hiddenPath, h, nil)
}

// UnhideServer implements ServerOperator.
func (c *Client) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return c.call(ctx, http.MethodDelete, hiddenPath+"?"+url.Values{"address": {address.String()}}.Encode(), nil, nil)
}
