"""Texture objects over CUDA arrays (CUDA Driver API, "Texture Object Management")."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from lanewise.gpu import bindings
from lanewise.ladder.plan import PlannedTexture


class CardTexture:
    """A texture object over an array with a copy of the f32 buffer at `address`; both go when this does.

    `handle` is the kernel's argument. Unfiltered, read by whole coordinates, clamped at the edges. `done` checks a
    driver call and gives its value.
    """

    def __init__(self, planned: PlannedTexture, address: int, done: Callable[[tuple[Any, ...]], Any]) -> None:
        driver = bindings.driver()
        shape = driver.CUDA_ARRAY_DESCRIPTOR()
        shape.Width, shape.Height, shape.NumChannels = planned.columns, planned.rows, 1
        shape.Format = driver.CUarray_format.CU_AD_FORMAT_FLOAT
        array = done(driver.cuArrayCreate(shape))
        weakref.finalize(self, driver.cuArrayDestroy, array)
        copy = driver.CUDA_MEMCPY2D()
        copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice, copy.srcPitch = address, 4 * planned.columns
        copy.dstMemoryType, copy.dstArray = driver.CUmemorytype.CU_MEMORYTYPE_ARRAY, array
        copy.WidthInBytes, copy.Height = 4 * planned.columns, planned.rows
        done(driver.cuMemcpy2D(copy))
        resource = driver.CUDA_RESOURCE_DESC()
        resource.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
        resource.res.array.hArray = array
        how = driver.CUDA_TEXTURE_DESC()
        how.addressMode = [driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP] * 3
        how.filterMode = driver.CUfilter_mode.CU_TR_FILTER_MODE_POINT
        handle = done(driver.cuTexObjectCreate(resource, how, None))
        weakref.finalize(self, driver.cuTexObjectDestroy, handle)
        self.handle = int(handle)
