// Package service is the group coordinator of one broker: it finds the shard of a group, splits
// requests that name many groups, and answers with the error that each API has a field for. It
// implements what the handlers need of groups.
package service
