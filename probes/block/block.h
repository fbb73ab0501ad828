/* Requests to block devices: how many, how large, how long, and where on the device. */
#pragma once

#define POINTS 3
#define CLASSES 5
#define GROUPS 8

enum block_point { BLOCK_INSERT, BLOCK_ISSUE, BLOCK_COMPLETE };
enum block_class { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_DISCARD, BLOCK_OTHER };
