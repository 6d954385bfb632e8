package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

func findServer(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	if !t.Registers {
		_, err := netclient.Get(ctx, t.Address("web"), "/api/v1/stats")
		return err
	}
	if t.Server == nil {
		return service.ErrNotRegistered
	}
	body, err := netclient.Get(ctx, t.Address("web"), "/api/v1/servers?game="+t.Game+"&q="+url.QueryEscape(t.Name))
	if err != nil {
		return err
	}
	var list struct {
		Servers []struct {
			Name string `json:"name"`
			Port uint16 `json:"port"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("/api/v1/servers: %w", err)
	}
	for _, s := range list.Servers {
		if s.Name == t.Name && s.Port == t.Server.Port() {
			return nil
		}
	}
	return service.ErrNotInList
}
