// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import java.util.List;

/** Elements as kernels read them through a texture object. Any thread may read. */
public final class Texture {
  /*
   * Filtering is CUDA's: elements lie at half-integer coordinates, and their weights have 8 bits
   * behind the binary point. What a channel that a format lacks reads as is 0, and 1 for the last.
   */
  private static final float WEIGHT_ONE = 256;
  private static final float FARTHEST = 1 << 24;
  private static final float FARTHEST_FIXED = 1 << 21;
  private static final float ROUNDING = 1f / (1 << 13);
  private static final int FACES = 6;

  private final Texels[] levels;
  private final Sampler sampler;
  private final MipmapFilter mipmap;
  private final AddressMode[] modes = new AddressMode[3];
  private final AddressMode[] elementModes = new AddressMode[3];
  private final float[] border = new float[Sample.CHANNELS];
  private final int firstLayer;
  private final int layers;
  private final boolean floats;
  private final boolean filters;
  private final boolean srgb;
  private final boolean normalized;

  /** One level of numbers that need no more than being read, as in most textures. */
  private final boolean plain;

  /**
   * Makes a texture.
   *
   * @param levels the largest first; 1 unless mipmapped
   * @param firstLayer the layer that kernels call 0
   * @param layers how many there are from there on
   */
  public Texture(List<Texels> levels, Sampler sampler, int firstLayer, int layers) {
    this.levels = levels.toArray(Texels[]::new);
    this.sampler = sampler;
    mipmap = sampler.mipmap();
    this.firstLayer = firstLayer;
    this.layers = layers;
    TexelFormat format = levels.getFirst().format();
    floats = format.isReadAsFloat(sampler.integers());
    filters = sampler.linear() && floats;
    srgb = sampler.srgb() && format.type() == ChannelType.UNSIGNED_8;
    normalized = sampler.normalized();
    plain = floats && !srgb && this.levels.length == 1;
    for (int i = 0; i < modes.length; i++) {
      AddressMode mode = sampler.modes().get(i);
      elementModes[i] = mode == AddressMode.BORDER ? mode : AddressMode.CLAMP;
      modes[i] = sampler.normalized() ? mode : elementModes[i];
    }
    for (int i = 0; i < border.length; i++) {
      border[i] = sampler.border().get(i);
    }
  }

  public int levelCount() {
    return levels.length;
  }

  /** The elements of a level; the nearest for a level that does not exist. */
  public Texels level(int level) {
    return levels[Math.clamp(level, 0, levels.length - 1)];
  }

  public int layers() {
    return layers;
  }

  public boolean normalizedCoordinates() {
    return sampler.normalized();
  }

  /** Reads the element at integer coordinates. */
  public void fetch(Geometry geometry, int layer, int x, int y, int z, int level, Sample result) {
    Texels texels = level(level);
    int column = elementModes[0].index(x, texels.width());
    int row = geometry.coordinates() < 2 ? 0 : elementModes[1].index(y, texels.height());
    int slice =
        geometry == Geometry.VOLUME
            ? elementModes[2].index(z, texels.depth())
            : layerOf(geometry, layer);
    result.clear();
    if (floats) {
      add(texels, column, row, slice, 1, result);
      finish(texels, result);
    } else {
      copyIntegers(texels, column, row, slice, result);
    }
  }

  /**
   * Reads at real coordinates.
   *
   * @param level of detail, before the sampler's bias and limits
   */
  public void sample(
      Geometry geometry, int layer, float x, float y, float z, float level, Sample result) {
    if (plain && (geometry == Geometry.PLANE || geometry == Geometry.LINE)) {
      samplePlain(geometry == Geometry.PLANE, x, y, result);
      return;
    }
    result.clear();
    int slice = place(geometry, layer, x, y, z, result);
    float column = result.s;
    float row = result.t;
    if (!floats) {
      Texels texels = levels[nearestLevel(level)];
      copyIntegers(
          texels,
          nearest(column, texels.width(), 0),
          geometry.coordinates() < 2 ? 0 : nearest(row, texels.height(), 1),
          geometry == Geometry.VOLUME ? nearest(z, texels.depth(), 2) : slice,
          result);
      return;
    }
    if (levels.length > 1 && mipmap.linear()) {
      float exact = limited(level);
      int lower = (int) exact;
      float weight = (float) Math.rint((exact - lower) * WEIGHT_ONE) / WEIGHT_ONE;
      addLevel(levels[lower], geometry, slice, column, row, z, 1 - weight, result);
      if (weight > 0) {
        addLevel(levels[lower + 1], geometry, slice, column, row, z, weight, result);
      }
    } else {
      addLevel(levels[nearestLevel(level)], geometry, slice, column, row, z, 1, result);
    }
    finish(levels[0], result);
  }

  /** What {@link #sample} comes to for a plain texture, bit for bit. */
  private void samplePlain(boolean plane, float x, float y, Sample result) {
    Texels texels = levels[0];
    int width = texels.width();
    int height = texels.height();
    int left;
    int upper;
    float across = 0;
    float down = 0;
    if (filters) {
      int fixedX = fixed(x, width);
      int fixedY = plane ? fixed(y, height) : 0;
      left = fixedX >> 8;
      upper = fixedY >> 8;
      across = fraction(fixedX);
      down = fraction(fixedY);
    } else {
      left = nearest(x, width, 0);
      upper = plane ? nearest(y, height, 1) : 0;
    }
    // Neighbours that weigh nothing are not read: they may be infinite.
    int right = across > 0 ? modes[0].index(left + 1, width) : 0;
    int lower = down > 0 ? modes[1].index(upper + 1, height) : 0;
    if (filters) {
      left = modes[0].index(left, width);
      upper = plane ? modes[1].index(upper, height) : 0;
    }
    int channels = texels.format().channels();
    for (int channel = 0; channel < channels; channel++) {
      float sum = 0f + (1 - across) * (1 - down) * value(texels, left, upper, channel);
      if (across > 0) {
        sum += across * (1 - down) * value(texels, right, upper, channel);
      }
      if (down > 0) {
        sum += (1 - across) * down * value(texels, left, lower, channel);
        if (across > 0) {
          sum += across * down * value(texels, right, lower, channel);
        }
      }
      result.bits[channel] = Float.floatToRawIntBits(sum);
    }
    for (int channel = channels; channel < Sample.CHANNELS; channel++) {
      result.bits[channel] = missing(channel);
    }
  }

  private float value(Texels texels, int x, int y, int channel) {
    return (x | y) < 0 ? border[channel] : texels.value(x, y, firstLayer, channel);
  }

  /** Reads at real coordinates; how fast they change from pixel to pixel tells the level. */
  public void sampleWithGradient(
      Geometry geometry, int layer, float[] place, float[] alongX, float[] alongY, Sample result) {
    float across =
        (float) Math.sqrt(Math.max(squared(geometry, alongX), squared(geometry, alongY)));
    float level = (float) (Math.log(across) / Math.log(2));
    sample(geometry, layer, place[0], place[1], place[2], level, result);
  }

  /** The squared length of a change of coordinates, in elements of the largest level. */
  private float squared(Geometry geometry, float[] change) {
    Texels texels = levels[0];
    boolean normalized = sampler.normalized();
    float sum = 0;
    for (int i = 0; i < geometry.coordinates(); i++) {
      int extent = i == 0 ? texels.width() : i == 1 ? texels.height() : texels.depth();
      // On a cube, a face is two units wide.
      float scale = geometry.isCube() ? texels.width() / 2f : normalized ? extent : 1;
      sum += change[i] * scale * (change[i] * scale);
    }
    return sum;
  }

  /** Reads one channel of the four elements that filtering would use. */
  public void gather(
      Geometry geometry, int layer, float x, float y, float z, int channel, Sample result) {
    result.clear();
    int slice = place(geometry, layer, x, y, z, result);
    float column = result.s;
    float row = result.t;
    Texels texels = levels[0];
    int left = (int) Math.floor(scaled(column, texels.width()) - 0.5f);
    int top = (int) Math.floor(scaled(row, texels.height()) - 0.5f);
    for (int i = 0; i < Sample.CHANNELS; i++) {
      // Counter-clockwise from the lower left.
      int across = modes[0].index(left + (i == 1 || i == 2 ? 1 : 0), texels.width());
      int down = modes[1].index(top + (i < 2 ? 1 : 0), texels.height());
      result.bits[i] = bitsOf(texels, across, down, slice, channel);
    }
  }

  private int bitsOf(Texels texels, int x, int y, int z, int channel) {
    if (channel >= texels.format().channels()) {
      return missing(channel);
    }
    boolean outside = (x | y | z) < 0;
    if (floats) {
      return Float.floatToRawIntBits(outside ? border[channel] : decoded(texels, x, y, z, channel));
    }
    return outside ? (int) border[channel] : texels.bits(x, y, slice(texels, z), channel);
  }

  /** Finds the slice to read, and leaves the place on it in the result. */
  private int place(Geometry geometry, int layer, float x, float y, float z, Sample result) {
    int slice = layerOf(geometry, layer);
    if (geometry.isCube()) {
      result.project(x, y, z);
      return faceOf(slice, result);
    }
    result.s = x;
    result.t = y;
    return slice;
  }

  private int layerOf(Geometry geometry, int layer) {
    if (!geometry.layered()) {
      return geometry == Geometry.CUBE ? firstLayer / FACES : firstLayer;
    }
    return geometry.isCube()
        ? firstLayer / FACES + Math.clamp(layer, 0, Math.max(0, layers / FACES - 1))
        : firstLayer + Math.clamp(layer, 0, layers - 1);
  }

  /** The slice of a face; of a texture that is no cube, the last there is. */
  private int faceOf(int cube, Sample result) {
    return Math.min(cube * FACES + result.face, levels[0].depth() - 1);
  }

  private float limited(float level) {
    float biased = level + mipmap.bias();
    float within = Math.min(Math.max(biased, mipmap.min()), mipmap.max());
    return Math.min(Math.max(within, 0), levels.length - 1);
  }

  private int nearestLevel(float level) {
    return levels.length == 1 ? 0 : (int) (limited(level) + 0.5f);
  }

  private float scaled(float coordinate, int extent) {
    return within(FARTHEST, coordinate, extent);
  }

  /** A coordinate in elements, no farther from 0 than a limit. */
  private float within(float limit, float coordinate, int extent) {
    float scaled = normalized ? coordinate * extent : coordinate;
    return Math.min(Math.max(scaled, -limit), limit);
  }

  private int nearest(float coordinate, int extent, int dimension) {
    float scaled = scaled(coordinate, extent);
    // What a division by the extent has rounded down is meant to be the element.
    float place = normalized ? scaled + ROUNDING : scaled;
    return modes[dimension].index((int) Math.floor(place), extent);
  }

  /** Adds what a level reads as, times a weight. */
  private void addLevel(
      Texels texels,
      Geometry geometry,
      int slice,
      float x,
      float y,
      float z,
      float weight,
      Sample result) {
    boolean plane = geometry.coordinates() > 1;
    boolean volume = geometry == Geometry.VOLUME;
    if (!filters) {
      add(
          texels,
          nearest(x, texels.width(), 0),
          plane ? nearest(y, texels.height(), 1) : 0,
          volume ? nearest(z, texels.depth(), 2) : slice,
          weight,
          result);
      return;
    }
    int fixedX = fixed(x, texels.width());
    int fixedY = plane ? fixed(y, texels.height()) : 0;
    if (geometry.isCube() && sampler.seamless()) {
      addAcross(texels, slice, fixedX, fixedY, weight, result);
      return;
    }
    if (!volume) {
      addSlice(texels, plane, fixedX, fixedY, slice, weight, result);
      return;
    }
    int fixedZ = fixed(z, texels.depth());
    float share = fraction(fixedZ);
    int front = modes[2].index(fixedZ >> 8, texels.depth());
    addSlice(texels, true, fixedX, fixedY, front, (1 - share) * weight, result);
    if (share > 0) {
      int back = modes[2].index((fixedZ >> 8) + 1, texels.depth());
      addSlice(texels, true, fixedX, fixedY, back, share * weight, result);
    }
  }

  /** Adds what is between the elements of one slice. */
  private void addSlice(
      Texels texels,
      boolean plane,
      int fixedX,
      int fixedY,
      int slice,
      float weight,
      Sample result) {
    if (!plane) {
      addRow(texels, fixedX, 0, slice, weight, result);
      return;
    }
    float share = fraction(fixedY);
    int upper = modes[1].index(fixedY >> 8, texels.height());
    addRow(texels, fixedX, upper, slice, (1 - share) * weight, result);
    if (share > 0) {
      int lower = modes[1].index((fixedY >> 8) + 1, texels.height());
      addRow(texels, fixedX, lower, slice, share * weight, result);
    }
  }

  private void addRow(Texels texels, int fixedX, int row, int slice, float weight, Sample result) {
    float share = fraction(fixedX);
    int left = modes[0].index(fixedX >> 8, texels.width());
    add(texels, left, row, slice, (1 - share) * weight, result);
    if (share > 0) {
      int right = modes[0].index((fixedX >> 8) + 1, texels.width());
      add(texels, right, row, slice, share * weight, result);
    }
  }

  /** The place of a coordinate among elements, with 8 bits behind the binary point. */
  private int fixed(float coordinate, int extent) {
    float scaled = within(FARTHEST_FIXED, coordinate, extent);
    return (int) Math.floor((scaled - 0.5f) * WEIGHT_ONE + 0.5f);
  }

  private static float fraction(int fixed) {
    return (fixed & 255) / WEIGHT_ONE;
  }

  /**
   * Adds what is between the elements of a cube; one beside a face is on the face that is there.
   */
  private void addAcross(
      Texels texels, int slice, int fixedX, int fixedY, float weight, Sample result) {
    int edge = texels.width();
    int cube = slice / FACES;
    for (int corner = 0; corner < 4; corner++) {
      int x = (fixedX >> 8) + (corner & 1);
      int y = (fixedY >> 8) + (corner >> 1);
      float across = (corner & 1) == 0 ? 1 - fraction(fixedX) : fraction(fixedX);
      float down = corner >> 1 == 0 ? 1 - fraction(fixedY) : fraction(fixedY);
      if (x >= 0 && x < edge && y >= 0 && y < edge) {
        add(texels, x, y, slice, across * down * weight, result);
      } else {
        result.projectFrom(slice % FACES, (2 * x + 1f) / edge - 1, (2 * y + 1f) / edge - 1);
        int column = Math.clamp((int) (result.s * edge), 0, edge - 1);
        int row = Math.clamp((int) (result.t * edge), 0, edge - 1);
        add(texels, column, row, faceOf(cube, result), across * down * weight, result);
      }
    }
  }

  private void add(Texels texels, int x, int y, int z, float weight, Sample result) {
    int channels = texels.format().channels();
    boolean outside = (x | y | z) < 0;
    for (int channel = 0; channel < channels; channel++) {
      float value = outside ? border[channel] : decoded(texels, x, y, z, channel);
      result.sum[channel] += weight * value;
    }
  }

  /** The last slice for one that a smaller level of a volume does not have. */
  private static int slice(Texels texels, int z) {
    return Math.min(z, texels.depth() - 1);
  }

  private float decoded(Texels texels, int x, int y, int z, int channel) {
    float value = texels.value(x, y, slice(texels, z), channel);
    if (!srgb || channel == Sample.CHANNELS - 1) {
      return value;
    }
    return value <= 0.04045f ? value / 12.92f : (float) Math.pow((value + 0.055) / 1.055, 2.4);
  }

  private void finish(Texels texels, Sample result) {
    int channels = texels.format().channels();
    for (int channel = 0; channel < Sample.CHANNELS; channel++) {
      result.bits[channel] =
          channel < channels ? Float.floatToRawIntBits(result.sum[channel]) : missing(channel);
    }
  }

  private void copyIntegers(Texels texels, int x, int y, int z, Sample result) {
    for (int channel = 0; channel < Sample.CHANNELS; channel++) {
      result.bits[channel] = bitsOf(texels, x, y, z, channel);
    }
  }

  private int missing(int channel) {
    if (channel < Sample.CHANNELS - 1) {
      return 0;
    }
    return floats ? Float.floatToRawIntBits(1) : 1;
  }
}
