// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.spec.ArrayShape;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.TextureLimits;
import io.gpupool.soft.texture.Sampler;
import io.gpupool.soft.texture.TexelFormat;
import io.gpupool.soft.texture.Texels;
import io.gpupool.soft.texture.Texture;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Factory of textures of resources, with the checks of {@code cuTexObjectCreate}. */
final class TextureMaker {
  private final SoftContext context;

  TextureMaker(SoftContext context) {
    this.context = context;
  }

  Texture make(TextureResource resource, Sampler sampler, TextureResource.@Nullable View view) {
    return switch (resource) {
      case TextureResource.Arrays(List<SoftArray> levels) -> ofArrays(levels, sampler, view);
      case TextureResource.Linear linear -> ofLinear(linear, sampler);
      case TextureResource.Pitched pitched -> ofPitched(pitched, sampler);
    };
  }

  private static Texture ofArrays(
      List<SoftArray> arrays, Sampler sampler, TextureResource.@Nullable View view) {
    ArrayShape shape = arrays.getFirst().shape();
    require(arrays.size() == 1 || sampler.normalized(), "levels need normalized coordinates");
    List<Texels> levels = arrays.stream().map(SoftArray::texels).toList();
    int firstLayer = 0;
    int layers = shape.hasLayers() ? shape.slices() : 1;
    if (view != null) {
      require(
          view.firstLevel() >= 0
              && view.firstLevel() <= view.lastLevel()
              && view.lastLevel() < levels.size(),
          "the view's levels are not there");
      require(
          view.firstLayer() >= 0
              && view.firstLayer() <= view.lastLayer()
              && view.lastLayer() < layers,
          "the view's layers are not there");
      levels = levels.subList(view.firstLevel(), view.lastLevel() + 1);
      firstLayer = view.firstLayer();
      layers = view.lastLayer() - firstLayer + 1;
      if (view.viewFormat() != 0) {
        TexelFormat format = TexelFormat.ofView(view.viewFormat());
        require(
            format.bytes() == shape.format().bytes(),
            "the view's elements are not as long as the array's");
        levels = levels.stream().map(texels -> texels.viewedAs(format)).toList();
      }
    }
    checkFilter(levels.getFirst().format(), sampler);
    return new Texture(levels, sampler, firstLayer, layers);
  }

  private Texture ofLinear(TextureResource.Linear linear, Sampler sampler) {
    int element = linear.format().bytes();
    long elements = linear.lengthBytes() / element;
    require(
        elements >= 1 && elements <= TextureLimits.LINEAR_ELEMENTS,
        "linear memory of " + linear.lengthBytes() + " bytes for elements of " + element);
    requireAligned(linear.address(), ComputeLimits.PITCH_ALIGNMENT_BYTES);
    long lengthBytes = elements * element;
    Texels texels =
        new Texels(
            context.view(linear.address(), lengthBytes),
            linear.format(),
            (int) elements,
            1,
            1,
            lengthBytes);
    return new Texture(List.of(texels), Sampler.ofElements(sampler.integers()), 0, 1);
  }

  private Texture ofPitched(TextureResource.Pitched pitched, Sampler sampler) {
    long rowBytes = pitched.width() * pitched.format().bytes();
    require(
        pitched.width() >= 1
            && pitched.width() <= TextureLimits.PITCHED_WIDTH
            && pitched.height() >= 1
            && pitched.height() <= TextureLimits.PITCHED_HEIGHT
            && pitched.pitchBytes() >= rowBytes
            && pitched.pitchBytes() <= TextureLimits.PITCHED_PITCH_BYTES
            && pitched.pitchBytes() % TextureLimits.PITCH_ALIGNMENT_BYTES == 0,
        pitched + " is no texture");
    requireAligned(pitched.address(), ComputeLimits.PITCH_ALIGNMENT_BYTES);
    checkFilter(pitched.format(), sampler);
    long span = (pitched.height() - 1) * pitched.pitchBytes() + rowBytes;
    Texels texels =
        new Texels(
            context.view(pitched.address(), span),
            pitched.format(),
            (int) pitched.width(),
            (int) pitched.height(),
            1,
            pitched.pitchBytes());
    return new Texture(List.of(texels), sampler, 0, 1);
  }

  private static void checkFilter(TexelFormat format, Sampler sampler) {
    require(
        !sampler.linear() || format.isReadAsFloat(sampler.integers()),
        "elements read as integers cannot be interpolated");
  }

  private static void requireAligned(long address, int bytes) {
    require(
        address % bytes == 0,
        "texture memory at 0x" + Long.toHexString(address) + " is not aligned to " + bytes);
  }

  private static void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new GpuException(CudaStatus.INVALID_VALUE, otherwise);
    }
  }
}
