package service

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle runs one request and calls done once with its response; see handlers.Groups.
func (g *Groups) Handle(clientID, clientHost string, req kmsg.Request, done func(kmsg.Response)) {
	client := classic.Client{ID: clientID, Host: clientHost}
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		g.join(client, req, done)
	case *kmsg.SyncGroupRequest:
		g.one(client, req.Group, req, true, done, func(err error) kmsg.Response { return classic.SyncError(err) })
	case *kmsg.HeartbeatRequest:
		g.one(client, req.Group, req, true, done, func(err error) kmsg.Response {
			resp := kmsg.NewPtrHeartbeatResponse()
			resp.ErrorCode = kerror.CodeOf(err)
			return resp
		})
	case *kmsg.LeaveGroupRequest:
		g.one(client, req.Group, req, true, done, func(err error) kmsg.Response {
			resp := kmsg.NewPtrLeaveGroupResponse()
			resp.ErrorCode = kerror.CodeOf(err)
			return resp
		})
	case *kmsg.OffsetCommitRequest:
		g.one(client, req.Group, req, false, done, func(err error) kmsg.Response { return group.CommitError(req, err) })
	case *kmsg.OffsetDeleteRequest:
		g.one(client, req.Group, req, true, done, func(err error) kmsg.Response {
			resp := kmsg.NewPtrOffsetDeleteResponse()
			resp.ErrorCode = kerror.CodeOf(err)
			return resp
		})
	case *kmsg.OffsetFetchRequest:
		g.fetchOffsets(client, req, done)
	case *kmsg.DescribeGroupsRequest:
		g.describe(client, req, done)
	case *kmsg.DeleteGroupsRequest:
		g.delete(client, req, done)
	case *kmsg.ListGroupsRequest:
		g.list(client, req, done)
	default:
		panic("service: not a request for the group coordinator") // the handlers' table decides
	}
}

// one runs a request of one group. named says that the empty group id is refused; consumers without
// a group commit under it, so not everywhere.
func (g *Groups) one(client classic.Client, id string, req kmsg.Request, named bool, done func(kmsg.Response), failed func(error) kmsg.Response) {
	if named && id == "" {
		done(failed(kerr.InvalidGroupID))
		return
	}
	g.shards.Submit(g.partition(id), &group.Request{Client: client, Body: req}, func(resp any, err error) {
		if err != nil {
			done(failed(err))
			return
		}
		done(resp.(kmsg.Response))
	})
}

func (g *Groups) join(client classic.Client, req *kmsg.JoinGroupRequest, done func(kmsg.Response)) {
	session := time.Duration(req.SessionTimeoutMillis) * time.Millisecond
	bounds := &g.cfg.Group.Classic
	if req.Group != "" && (session < bounds.MinSessionTimeout || session > bounds.MaxSessionTimeout) {
		done(classic.JoinError(req, kerr.InvalidSessionTimeout))
		return
	}
	g.one(client, req.Group, req, true, done, func(err error) kmsg.Response { return classic.JoinError(req, err) })
}

// gather collects n parts that come from any goroutine and then calls finish with them in order.
type gather[T any] struct {
	mu     sync.Mutex
	parts  []T
	left   int
	finish func([]T)
}

func newGather[T any](n int, finish func([]T)) *gather[T] {
	if n == 0 {
		finish(nil)
	}
	return &gather[T]{parts: make([]T, n), left: n, finish: finish}
}

func (g *gather[T]) put(i int, part T) {
	g.mu.Lock()
	g.parts[i] = part
	g.left--
	last := g.left == 0
	g.mu.Unlock()
	if last {
		g.finish(g.parts)
	}
}

func (g *Groups) fetchOffsets(client classic.Client, req *kmsg.OffsetFetchRequest, done func(kmsg.Response)) {
	all := newGather(len(req.Groups), func(groups []kmsg.OffsetFetchResponseGroup) {
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = groups
		done(resp)
	})
	for i, of := range req.Groups {
		part := &kmsg.OffsetFetchRequest{Version: req.Version, Groups: []kmsg.OffsetFetchRequestGroup{of}, RequireStable: req.RequireStable}
		g.shards.Submit(g.partition(of.Group), &group.Request{Client: client, Body: part}, func(resp any, err error) {
			if err == nil {
				all.put(i, resp.(*kmsg.OffsetFetchResponse).Groups[0])
				return
			}
			failed := kmsg.NewOffsetFetchResponseGroup()
			failed.Group, failed.ErrorCode = of.Group, kerror.CodeOf(err)
			all.put(i, failed)
		})
	}
}

func (g *Groups) describe(client classic.Client, req *kmsg.DescribeGroupsRequest, done func(kmsg.Response)) {
	all := newGather(len(req.Groups), func(groups []kmsg.DescribeGroupsResponseGroup) {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		resp.Groups = groups
		done(resp)
	})
	for i, id := range req.Groups {
		part := &kmsg.DescribeGroupsRequest{Version: req.Version, Groups: []string{id}}
		g.shards.Submit(g.partition(id), &group.Request{Client: client, Body: part}, func(resp any, err error) {
			if err == nil {
				all.put(i, resp.(*kmsg.DescribeGroupsResponse).Groups[0])
				return
			}
			failed := kmsg.NewDescribeGroupsResponseGroup()
			failed.Group, failed.ErrorCode = id, kerror.CodeOf(err)
			all.put(i, failed)
		})
	}
}

func (g *Groups) delete(client classic.Client, req *kmsg.DeleteGroupsRequest, done func(kmsg.Response)) {
	var ids []string
	seen := map[string]struct{}{}
	for _, id := range req.Groups {
		if _, again := seen[id]; !again {
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	all := newGather(len(ids), func(groups []kmsg.DeleteGroupsResponseGroup) {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		resp.Groups = groups
		done(resp)
	})
	for i, id := range ids {
		part := &kmsg.DeleteGroupsRequest{Version: req.Version, Groups: []string{id}}
		g.shards.Submit(g.partition(id), &group.Request{Client: client, Body: part}, func(resp any, err error) {
			if err == nil {
				all.put(i, resp.(*kmsg.DeleteGroupsResponse).Groups[0])
				return
			}
			failed := kmsg.NewDeleteGroupsResponseGroup()
			failed.Group, failed.ErrorCode = id, kerror.CodeOf(err)
			all.put(i, failed)
		})
	}
}

// list asks every shard. One that was given up meanwhile has no groups; one that still loads makes
// the whole answer an error, since a list with groups missing would be taken for complete.
func (g *Groups) list(client classic.Client, req *kmsg.ListGroupsRequest, done func(kmsg.Response)) {
	type part struct {
		groups []kmsg.ListGroupsResponseGroup
		code   int16
	}
	partitions := g.shards.Partitions()
	all := newGather(len(partitions), func(parts []part) {
		resp := kmsg.NewPtrListGroupsResponse()
		for _, p := range parts {
			if p.code != 0 {
				resp.ErrorCode, resp.Groups = p.code, nil
				break
			}
			resp.Groups = append(resp.Groups, p.groups...)
		}
		slices.SortFunc(resp.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
		done(resp)
	})
	for i, p := range partitions {
		g.shards.Submit(p, &group.Request{Client: client, Body: req}, func(resp any, err error) {
			switch {
			case err == nil:
				all.put(i, part{groups: resp.(*kmsg.ListGroupsResponse).Groups})
			case kerror.CodeOf(err) == kerr.NotCoordinator.Code:
				all.put(i, part{})
			default:
				all.put(i, part{code: kerror.CodeOf(err)})
			}
		})
	}
}
